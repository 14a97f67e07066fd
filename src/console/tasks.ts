import { A2AError } from '../protocol/errors.ts'
import { hasScope, mayExplain } from '../protocol/operations.ts'
import { taskStates, textOf } from '../protocol/task.ts'
import type { JsonObject, Message, Part, Task, TaskState } from '../protocol/types.ts'
import type { ConsoleHost } from '../server/options.ts'
import { myTurn } from '../shared/async.ts'
import { isFields } from '../shared/json.ts'
import { currentTask, explainStored, withoutError } from '../store/documents.ts'
import type { LogRecord, StoredTask, TaskCursor, TaskPage } from '../store/store.ts'
import type {
  ListedTask,
  NeedsYou,
  RecordsAnswer,
  TaskAnswer,
  TaskRecord,
  TasksAnswer,
} from './api.ts'
import { type ApiCall, asker, findTask, inSlices, numberOf, readLog, type Viewer } from './call.ts'
import type { TaskReader } from './facts.ts'
import { type AskedApproval, approvalsOf, budgetOf, teamOf } from './graph.ts'
import { queueOf } from './webhooks.ts'

/** About so many bytes of records go into one answer, and one more record; the page asks for what follows. */
const maxRecordBytes = 4 * 1024 * 1024

/** Makes the handlers of `tasks`, `tasks/ID` and `tasks/ID/records`. */
export function createTaskHandlers(
  host: ConsoleHost,
  reader: TaskReader,
): {
  list(call: ApiCall): Promise<TasksAnswer>
  one(call: ApiCall): Promise<TaskAnswer>
  records(call: ApiCall): Promise<RecordsAnswer>
} {
  const { store, mounts } = host
  const readPage = createTaskPages(host, reader)

  async function list({ query, viewer }: ApiCall): Promise<TasksAnswer> {
    const { tasks, next, total } = await readPage(viewer, toPageQuery(query))
    const rows = await inSlices(tasks, (stored) => toListedTask(stored, viewer, reader))
    return { rows, ...(next !== undefined && { next }), ...(total !== undefined && { total }) }
  }

  async function one(call: ApiCall): Promise<TaskAnswer> {
    const stored = await findTask(host, call, { artifacts: false })
    const { head, version } = stored
    const { createdAt, trace } = await reader.facts(stored)
    const task = await currentTask(store, stored)
    const mount = mounts.get(head.scope.agent)
    const { name = head.scope.agent } = mount?.identity.known() ?? {}
    const { auth, isOperator } = call.viewer
    const mayPush = isOperator || hasScope(auth, 'push')
    const webhooks = mayPush ? await store.pushConfigs(head.id) : []
    const why = mayExplain(asker(call))
      ? await explainStored(store, task, await reader.traced(stored))
      : []
    return {
      ...(await toListedTask(stored, call.viewer, reader)),
      agentName: name,
      ...(createdAt !== undefined && { createdAt }),
      busy: head.busy,
      version,
      trace: trace && showsTrace(host, call.viewer),
      history: task.history ?? [],
      ...budgetOf(mount && teamOf(mount.agent())),
      ...(why.length > 0 && { why }),
      ...(webhooks.length > 0 && {
        webhooks: webhooks.map((record) => queueOf(host, { record, head, version })),
      }),
    }
  }

  async function records(call: ApiCall): Promise<RecordsAnswer> {
    const { version, head } = await findTask(host, call, { light: true })
    const after = numberOf(call.query, 'after', { fallback: 0, max: Number.MAX_SAFE_INTEGER })
    const limit = Math.max(1, numberOf(call.query, 'limit', { fallback: 500, max: 2_000 }))
    const found = await readLog(store, head.id, { after, limit, maxBytes: maxRecordBytes })
    const shown = found.flatMap((record) => toShown(record, host, call))
    const upTo = found.at(-1)?.seq ?? Math.min(after, version)
    return { records: shown, upTo, version: Math.max(version, upTo) }
  }

  return { list, one, records }
}

/** Which tasks are asked for. */
interface PageQuery {
  readonly agent?: string
  readonly state?: TaskState
  readonly contextId?: string
  /** In lower case; found in the first words or the id. */
  readonly text?: string
  readonly cursor?: TaskCursor
  readonly limit: number
}

/** A page over all agents that a caller may see. */
interface TasksPage {
  readonly tasks: readonly StoredTask[]
  readonly next?: string
  /** Absent where a text is looked for. */
  readonly total?: number
}

/** Makes what reads pages of tasks: an operator's over all scopes, others' over their own, agent by agent. */
export function createTaskPages(
  host: ConsoleHost,
  reader: TaskReader,
): (viewer: Viewer, query: PageQuery) => Promise<TasksPage> {
  return async (viewer, query) => {
    const sources = sourcesOf(host, viewer, query)
    const { limit, text, cursor } = query
    if (text === undefined) return merged(sources, cursor, limit)
    return search(sources, { text, limit, cursor }, reader)
  }
}

/** Where tasks come from: a list of one scope, or of all. */
type TaskSource = (cursor: TaskCursor | undefined, limit: number) => Promise<TaskPage>

function sourcesOf({ store, mounts }: ConsoleHost, viewer: Viewer, query: PageQuery): TaskSource[] {
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
        (scope): TaskSource =>
          (cursor, limit) =>
            store.list({ ...filter, scope, limit, ...after(cursor) }),
      ),
    )
  const isWhole = agent === undefined && reachable.length === mounts.size
  const agents = isWhole ? [undefined] : wanted
  return agents.map(
    (one): TaskSource =>
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
  sources: readonly TaskSource[],
  cursor: TaskCursor | undefined,
  limit: number,
): Promise<TasksPage> {
  const pages = await Promise.all(sources.map((source) => source(cursor, limit)))
  const all = pages.flatMap(({ tasks }) => tasks).sort(newestFirst)
  const tasks = all.slice(0, limit)
  const last = tasks.at(-1)?.head
  const isMore = all.length > limit || pages.some(({ next }) => next !== undefined)
  const total = pages.reduce((sum, page) => sum + page.total, 0)
  return { tasks, total, ...(isMore && last && { next: cursorText(last) }) }
}

function newestFirst(a: StoredTask, b: StoredTask): number {
  if (a.head.timestamp !== b.head.timestamp) return a.head.timestamp < b.head.timestamp ? 1 : -1
  return a.head.id < b.head.id ? 1 : -1
}

function cursorText({ timestamp, id }: TaskCursor): string {
  return `${timestamp}_${id}`
}

/** A search for a text looks at so many tasks; the next page goes on from there. */
const maxLooked = 2_000

async function search(
  sources: readonly TaskSource[],
  wanted: {
    readonly text: string
    readonly limit: number
    readonly cursor: TaskCursor | undefined
  },
  reader: TaskReader,
): Promise<TasksPage> {
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

/** How a page names its end: the time and id of its last task. */
function toCursor(text: string | null): TaskCursor | undefined {
  if (text === null || text === '') return undefined
  const cut = text.indexOf('_')
  const timestamp = text.slice(0, cut)
  if (cut < 1 || Number.isNaN(Date.parse(timestamp)))
    throw new A2AError('invalidParams', 'cursor is none that this list has given')
  return { timestamp, id: text.slice(cut + 1) }
}

/** @throws A2AError `invalidParams`. */
function toPageQuery(query: URLSearchParams): PageQuery {
  const limit = Math.max(1, numberOf(query, 'limit', { fallback: 50, max: 200 }))
  const text = query.get('text')?.toLowerCase() || undefined
  const cursor = toCursor(query.get('cursor'))
  return {
    limit,
    ...given('agent', query.get('agent')),
    ...given('state', stateOf(query.get('state'))),
    ...given('contextId', query.get('context')),
    ...(text !== undefined && { text }),
    ...(cursor && { cursor }),
  }
}

function given<K extends string, V>(key: K, value: V | null | undefined | ''): { [P in K]?: V } {
  return value === null || value === undefined || value === ''
    ? {}
    : ({ [key]: value } as { [P in K]: V }) // the one key that is given
}

function stateOf(text: string | null): TaskState | undefined {
  if (text === null || text === '') return undefined
  const state = taskStates.find((one) => one === text)
  if (state) return state
  throw new A2AError('invalidParams', `state must be one of ${taskStates.join(', ')}`)
}

/** A task as lists show it to a viewer. */
export async function toListedTask(
  stored: StoredTask,
  viewer: Viewer,
  reader: TaskReader,
): Promise<ListedTask> {
  const { head } = stored
  const { tokens, costUsd } = await reader.facts(stored)
  const { id, contextId, state, timestamp, scope } = head
  return {
    id,
    contextId,
    agent: scope.agent,
    state,
    at: timestamp,
    words: await reader.words(stored),
    mine: viewer.owns(head),
    ...(tokens !== undefined && { tokens }),
    ...(costUsd !== undefined && { costUsd }),
    ...(viewer.isOperator && { owner: scope.owner }),
  }
}

/** The trace is shown where the server shows it to callers, and to operators anyway. */
export function showsTrace({ options }: ConsoleHost, { isOperator }: Viewer): boolean {
  return isOperator || options.trace !== false
}

/** Events for all, the trace where it is on, everything else for operators alone. Why things failed is in the task. */
function toShown(record: LogRecord, host: ConsoleHost, call: ApiCall): readonly TaskRecord[] {
  const { viewer } = call
  const { seq, kind, ...rest } = record
  if (record.kind === 'event') return [{ seq, kind: 'event', event: record.event }]
  if (record.kind === 'trace') {
    const { at, entry } = mayExplain(asker(call)) ? record : withoutError(record)
    return showsTrace(host, viewer) ? [{ seq, kind: 'trace', at, entry }] : []
  }
  if (!viewer.isOperator) return []
  if (record.kind === 'message') return [{ seq, kind: 'message', message: record.message }]
  const data: JsonObject = JSON.parse(JSON.stringify(rest)) // records are plain data
  return [{ seq, kind: 'internal', name: kind, data }]
}

const waitingStates: readonly TaskState[] = [
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
]

const maxWaiting = 50

/** Makes what reads the tasks that wait for a caller, those that have waited longest first. */
export function createInbox(
  host: ConsoleHost,
  reader: TaskReader,
): (viewer: Viewer) => Promise<readonly NeedsYou[]> {
  const { mounts, store } = host
  const readPage = createTaskPages(host, reader)
  /** A list does not bring the messages of large tasks. */
  async function wholeOf(listed: StoredTask): Promise<Task> {
    const { id } = listed.head
    const stored = listed.task.history
      ? listed
      : await store.get(id, undefined, { artifacts: false })
    return currentTask(store, stored ?? listed)
  }

  return async (viewer) => {
    // An operator's own are not lost among everybody's.
    const owner = { ...viewer, isOperator: false }
    const pages = await Promise.all(
      waitingStates.map((state) => readPage(owner, { state, limit: maxWaiting })),
    )
    const waiting = pages
      .flatMap(({ tasks }) => tasks)
      .sort((a, b) => (a.head.timestamp < b.head.timestamp ? -1 : 1))
    return inSlices(waiting.slice(0, maxWaiting), async (stored) => {
      const { message: question } = (await wholeOf(stored)).status
      const agent = mounts.get(stored.head.scope.agent)?.agent()
      return {
        task: await toListedTask(stored, viewer, reader),
        ...kindOfQuestion(stored, question, agent ? approvalsOf(agent) : []),
        ...(question && { question }),
      }
    })
  }
}

/** An approval of a tool says in its data which one; another one ends with the question of its step. */
function kindOfQuestion(
  { head }: StoredTask,
  question: Message | undefined,
  approvals: readonly AskedApproval[],
): Pick<NeedsYou, 'kind' | 'feedback'> {
  if (head.state === 'TASK_STATE_AUTH_REQUIRED') return { kind: 'login' }
  if (question?.parts.some(isToolApproval)) return { kind: 'approval' }
  const text = textOf(question?.parts ?? [])
  const asked = approvals.find((one) => text.endsWith(one.question))
  if (!asked) return { kind: 'input' }
  return { kind: 'approval', ...(asked.feedback && { feedback: true }) }
}

function isToolApproval(part: Part): boolean {
  if (!('data' in part) || !isFields(part.data)) return false
  const { approval } = part.data
  return isFields(approval) && typeof approval.tool === 'string'
}
