import type { WriteLine } from './lines.ts'

/** What is written together: task writes of one statement, or other writes one after the other. */
export interface CommitStep {
  readonly type: 'tasks' | 'others'
  /** Places in the commit. */
  readonly places: number[]
}

/**
 * Lays writes out in steps: as many tasks as possible in one statement, though no two writes of one task or of one
 * idempotency key. Writes about the same task keep their order, and so do all others among themselves.
 *
 * @param places Which of the lines.
 */
export function planOf(
  lines: readonly WriteLine[],
  places: readonly number[],
): readonly CommitStep[] {
  const steps: CommitStep[] = []
  /** The last step that has to do with a task, and with a key. */
  const tasks = new Map<string, number>()
  const keys = new Map<string, number>()
  let lastOther = 1
  for (const place of places) {
    const line = lines[place]
    if (line === undefined || line.type === 'refused') continue
    if (line.type === 'task') {
      const key = line.key === null ? undefined : `${line.scope} ${line.key}`
      const ofKey = key === undefined ? -1 : (keys.get(key) ?? -1)
      const at = nextEven(Math.max(tasks.get(line.head.id) ?? -1, ofKey))
      add(steps, at, place)
      tasks.set(line.head.id, at)
      if (key !== undefined) keys.set(key, at)
    } else {
      const id = taskOf(line)
      if (id !== undefined) lastOther = Math.max(lastOther, (tasks.get(id) ?? 0) | 1)
      add(steps, lastOther, place)
      if (id !== undefined) tasks.set(id, lastOther)
    }
  }
  return steps.filter(({ places: some }) => some.length > 0)
}

function nextEven(step: number): number {
  return step % 2 === 0 ? step + 2 : step + 1
}

/** Steps of tasks have even numbers, the others odd ones. */
function add(steps: CommitStep[], at: number, place: number): void {
  while (steps.length <= at)
    steps.push({ type: steps.length % 2 === 0 ? 'tasks' : 'others', places: [] })
  steps[at]?.places.push(place)
}

function taskOf(line: Extract<WriteLine, { type: 'other' }>): string | undefined {
  const { write } = line
  if (write.type === 'deleteTask') return write.id
  if (write.type === 'pushConfig') return write.record.taskId
  return write.type === 'cursor' || write.type === 'deletePushConfig' ? write.taskId : undefined
}
