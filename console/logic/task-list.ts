import { batch, type ReadonlySignal, signal } from '@preact/signals'
import type { ListedTask, TaskChange, TasksAnswer, TasksQuery } from '../../src/console/api.ts'
import type { TaskFilters } from './route.ts'
import { read, sentenceOf } from './server.ts'

/** The tasks of a list, page by page and kept live. */
interface TaskList {
  readonly rows: ReadonlySignal<readonly ListedTask[]>
  readonly total: ReadonlySignal<number | undefined>
  readonly phase: ReadonlySignal<'loading' | 'ready' | 'complete' | 'failed'>
  readonly fault: ReadonlySignal<string>
  /** Tasks that came while the reader looks elsewhere. */
  readonly fresh: ReadonlySignal<readonly ListedTask[]>
  /** Loads the next page, unless one is under way or there is none. */
  more(): Promise<void>
  /** Takes in a change: a known row in place, a new one at the top or among the fresh. */
  change(change: TaskChange, atTop: boolean): void
  /** Shows the fresh ones. */
  showFresh(): void
}

/** How a page is fetched; the server's own if absent. */
type FetchPage = (query: string) => Promise<TasksAnswer>

const pageSize = 100

/** Makes a list for these filters; nothing is loaded before `more`. */
export function createTaskList(
  filters: TaskFilters,
  fetchPage: FetchPage = (query) => read<TasksAnswer>(`tasks?${query}`),
): TaskList {
  const rows = signal<readonly ListedTask[]>([])
  const total = signal<number | undefined>(undefined)
  const phase = signal<'loading' | 'ready' | 'complete' | 'failed'>('ready')
  const fault = signal('')
  const fresh = signal<readonly ListedTask[]>([])
  let cursor: string | undefined

  function add(answer: TasksAnswer): void {
    // A task that moved up while we read is not shown twice.
    const known = new Set(rows.value.map(({ id }) => id))
    rows.value = [...rows.value, ...answer.rows.filter(({ id }) => !known.has(id))]
    if (answer.total !== undefined) total.value = answer.total
    cursor = answer.next
    phase.value = answer.next === undefined ? 'complete' : 'ready'
  }

  return {
    rows,
    total,
    phase,
    fault,
    fresh,
    async more() {
      if (phase.value === 'loading' || phase.value === 'complete') return
      phase.value = 'loading'
      try {
        const place = cursor === undefined ? {} : { cursor }
        const answer = await fetchPage(toQuery({ ...filters, ...place, limit: pageSize }))
        batch(() => add(answer))
      } catch (thrown) {
        fault.value = sentenceOf(thrown)
        phase.value = 'failed'
      }
    },
    change({ task }, atTop) {
      const at = rows.value.findIndex(({ id }) => id === task.id)
      if (at >= 0) {
        rows.value = rows.value.with(at, task)
        return
      }
      if (!matches(task, filters)) return
      if (atTop) rows.value = [task, ...rows.value]
      else fresh.value = [task, ...fresh.value.filter(({ id }) => id !== task.id)]
      if (total.value !== undefined && atTop) total.value++
    },
    showFresh() {
      const ids = new Set(fresh.value.map(({ id }) => id))
      rows.value = [...fresh.value, ...rows.value.filter(({ id }) => !ids.has(id))]
      if (total.value !== undefined) total.value += fresh.value.length
      fresh.value = []
    },
  }
}

/** Filters of an address may hold any text; the server refuses what is no state. */
function toQuery(query: TaskFilters & Pick<TasksQuery, 'cursor' | 'limit'>): string {
  const pairs = Object.entries(query).map(([name, value]) => [name, String(value)])
  return new URLSearchParams(pairs).toString()
}

/** Whether a task belongs into a list with these filters. */
function matches(task: ListedTask, { agent, state, context, text }: TaskFilters): boolean {
  if (agent && task.agent !== agent) return false
  if (state && task.state !== state) return false
  if (context && task.contextId !== context) return false
  if (!text) return true
  const wanted = text.toLowerCase()
  return task.words.toLowerCase().includes(wanted) || task.id.toLowerCase().includes(wanted)
}
