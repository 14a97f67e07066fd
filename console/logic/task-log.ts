import { batch, type ReadonlySignal, signal } from '@preact/signals'
import type { RecordsAnswer, TaskAnswer, TaskRecord } from '../../src/console/api.ts'
import type { Explanation } from '../../src/protocol/failure.ts'
import { watchChanges } from './live.ts'
import { Refused, read, sentenceOf } from './server.ts'

/** A task and its log, kept up to date while it is open. */
interface TaskLog {
  readonly head: ReadonlySignal<TaskAnswer | undefined>
  readonly records: ReadonlySignal<readonly TaskRecord[]>
  readonly fault: ReadonlySignal<string>
  /** Why it cannot be read, for those who may know. */
  readonly why: ReadonlySignal<readonly Explanation[]>
  /** Reads what is new, also when it is asked in vain. */
  refresh(): Promise<void>
  close(): void
}

const pageSize = 1_000

/** Opens a task's log and begins to read it. */
export function openTaskLog(id: string): TaskLog {
  const head = signal<TaskAnswer | undefined>(undefined)
  const records = signal<readonly TaskRecord[]>([])
  const fault = signal('')
  const why = signal<readonly Explanation[]>([])
  const closing = new AbortController()
  const place = `tasks/${encodeURIComponent(id)}`
  let upTo = 0
  let reading: Promise<void> | undefined
  let again = false

  async function readOn(): Promise<void> {
    const nextHead = await read<TaskAnswer>(place, closing.signal)
    const found: TaskRecord[] = []
    for (let version = nextHead.version; upTo < version; ) {
      const query = `after=${upTo}&limit=${pageSize}`
      const answer = await read<RecordsAnswer>(`${place}/records?${query}`, closing.signal)
      found.push(...answer.records)
      if (answer.upTo <= upTo) break
      upTo = answer.upTo
      version = answer.version
    }
    batch(() => {
      head.value = nextHead
      fault.value = ''
      if (found.length > 0) records.value = [...records.value, ...found]
    })
  }

  async function readAll(): Promise<void> {
    do {
      again = false
      await readOn().catch((thrown: unknown) => {
        if (closing.signal.aborted) return
        fault.value = sentenceOf(thrown)
        why.value = thrown instanceof Refused && thrown.why ? [thrown.why] : []
      })
    } while (again && !closing.signal.aborted)
    reading = undefined
  }

  function refresh(): Promise<void> {
    if (reading) again = true
    else reading = readAll()
    return reading ?? Promise.resolve()
  }

  const stop = watchChanges(
    ({ task }) => {
      if (task.id === id) void refresh()
    },
    () => void refresh(),
  )
  const close = (): void => {
    stop()
    closing.abort()
  }
  void refresh()
  return { head, records, fault, why, refresh, close }
}
