import { A2AError } from '../protocol/errors.ts'
import type { TaskState } from '../protocol/types.ts'
import type { ConsoleHost } from '../server/console.ts'
import { myTurn } from '../shared/async.ts'
import type { StoredTask, TaskCursor, TaskPage } from '../store/store.ts'
import { inSlices } from './slices.ts'
import type { TaskReader } from './task-reader.ts'
import type { Viewer } from './viewer.ts'

/** Which tasks are asked for. */
interface TaskQuery {
  readonly agent?: string
  readonly state?: TaskState
  readonly contextId?: string
  /** In lower case; found in the first words or the id. */
  readonly text?: string
  readonly cursor?: TaskCursor
  readonly limit: number
}

/** A page over all agents that a caller may see. */
interface ConsolePage {
  readonly tasks: readonly StoredTask[]
  readonly next?: string
  /** Absent where a text is looked for. */
  readonly total?: number
}

/** Where tasks come from: a list of one scope, or of all. */
type Source = (cursor: TaskCursor | undefined, limit: number) => Promise<TaskPage>

/** A search for a text looks at so many tasks; the next page goes on from there. */
const maxLooked = 2_000

/** Makes what reads pages of tasks: an operator's over all scopes, others' over their own, agent by agent. */
export function createTaskPages(
  host: ConsoleHost,
  reader: TaskReader,
): (viewer: Viewer, query: TaskQuery) => Promise<ConsolePage> {
  return async (viewer, query) => {
    const sources = sourcesOf(host, viewer, query)
    const { limit, text, cursor } = query
    if (text === undefined) return merged(sources, cursor, limit)
    return search(sources, { text, limit, cursor }, reader)
  }
}

/** How a page names its end: the time and id of its last task. */
export function toCursor(text: string | null): TaskCursor | undefined {
  if (text === null || text === '') return undefined
  const cut = text.indexOf('_')
  const timestamp = text.slice(0, cut)
  if (cut < 1 || Number.isNaN(Date.parse(timestamp)))
    throw new A2AError('invalidParams', 'cursor is none that this list has given')
  return { timestamp, id: text.slice(cut + 1) }
}

function cursorText({ timestamp, id }: TaskCursor): string {
  return `${timestamp}_${id}`
}

function sourcesOf({ store, mounts }: ConsoleHost, viewer: Viewer, query: TaskQuery): Source[] {
  const { agent, state, contextId } = query
  const filter = {
    light: true,
    ...(state && { state }),
    ...(contextId !== undefined && { contextId }),
  }
  const after = (cursor: TaskCursor | undefined) => (cursor ? { cursor } : {})
  const reachable = [...mounts.keys()].filter((id) => viewer.reaches(id))
  const wanted = agent === undefined ? reachable : [agent].filter((id) => viewer.reaches(id))
  if (!viewer.isOperator)
    return wanted.flatMap((id) =>
      viewer.scopesOf(id).map(
        (scope): Source =>
          (cursor, limit) =>
            store.list({ ...filter, scope, limit, ...after(cursor) }),
      ),
    )
  const isWhole = agent === undefined && reachable.length === mounts.size
  const agents = isWhole ? [undefined] : wanted
  return agents.map(
    (one): Source =>
      (cursor, limit) =>
        store.listAll({
          ...filter,
          limit,
          ...after(cursor),
          ...(one !== undefined && { agent: one }),
        }),
  )
}

/** The newest of all sources after a place. Each gives as many as the page has, so none can be missed. */
async function merged(
  sources: readonly Source[],
  cursor: TaskCursor | undefined,
  limit: number,
): Promise<ConsolePage> {
  const pages = await Promise.all(sources.map((source) => source(cursor, limit)))
  const all = pages.flatMap(({ tasks }) => tasks).sort(newestFirst)
  const tasks = all.slice(0, limit)
  const last = tasks.at(-1)?.head
  const isMore = all.length > limit || pages.some(({ next }) => next !== undefined)
  const total = pages.reduce((sum, page) => sum + page.total, 0)
  return { tasks, total, ...(isMore && last && { next: cursorText(last) }) }
}

async function search(
  sources: readonly Source[],
  wanted: {
    readonly text: string
    readonly limit: number
    readonly cursor: TaskCursor | undefined
  },
  reader: TaskReader,
): Promise<ConsolePage> {
  const { text, limit } = wanted
  const found: StoredTask[] = []
  let cursor = wanted.cursor
  for (let looked = 0; looked < maxLooked; looked += 200) {
    if (looked > 0) await myTurn()
    const { tasks, next } = await merged(sources, cursor, 200)
    const words = await inSlices(tasks, reader.words)
    for (const [i, stored] of tasks.entries()) {
      const { id, timestamp } = stored.head
      if (id.toLowerCase().includes(text) || words[i]?.toLowerCase().includes(text))
        found.push(stored)
      if (found.length === limit) return { tasks: found, next: cursorText({ timestamp, id }) }
    }
    if (next === undefined) return { tasks: found }
    cursor = toCursor(next)
  }
  return { tasks: found, ...(cursor && { next: cursorText(cursor) }) }
}

function newestFirst(a: StoredTask, b: StoredTask): number {
  if (a.head.timestamp !== b.head.timestamp) return a.head.timestamp < b.head.timestamp ? 1 : -1
  return a.head.id < b.head.id ? 1 : -1
}
