import { A2AError } from '../protocol/errors.ts'
import { errorExtension } from '../protocol/extensions.ts'
import { type Explanation, explain, type FailureNote } from '../protocol/failure.ts'
import { answerParts, createFold } from '../protocol/task.ts'
import type { Json, Message, Task, TaskState } from '../protocol/types.ts'
import { isFields, type Mutable } from '../shared/json.ts'
import type { StoreFacts } from './keeper.ts'
import { weighTask } from './size-limits.ts'
import type {
  ClaimRequest,
  DeadLetter,
  ListConditions,
  LogRecord,
  PushConfigRecord,
  Scope,
  Store,
  StoredTask,
  TaskCursor,
  TaskHead,
  TaskPage,
  TaskParts,
  Webhook,
  Write,
} from './store.ts'

/**
 * The error of a commit where another client of the store has locked some of its tasks. Nothing of the commit is stored:
 * commit the writes of other tasks without these, and these later.
 */
export class TasksLocked extends A2AError {
  readonly ids: ReadonlySet<string>

  constructor(ids: ReadonlySet<string>) {
    super('unavailable', 'The task store cannot write: another client has locked the task', {
      why: 'storeDown',
    })
    this.ids = ids
  }
}

/** The task that a write is about, if it is about one. */
export function taskIdOf(write: Write): string | undefined {
  switch (write.type) {
    case 'task':
      return write.head.id
    case 'deleteTask':
      return write.id
    case 'pushConfig':
      return write.record.taskId
    case 'cursor':
    case 'deletePushConfig':
      return write.taskId
    default:
      return undefined
  }
}

/** Records in one row of a log at most: a page of a replay, so that who reads in pages parses each record about once. */
export const recordsPerRow = 128

/** Records as the texts that a log's rows hold: one, several of `recordsPerRow` each where there are more, or none. */
export type RecordTexts = string | readonly string[] | null

/**
 * A document as JSON text.
 * @throws TypeError for what JSON cannot express. A `toJSON` of the value's own may throw what it likes.
 */
export function toText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError('Not a value of JSON')
  return text
}

/** A document of our own, read back. */
export function fromText<T>(text: unknown): T {
  return JSON.parse(String(text)) as T // what `toText` wrote: a store is ours alone
}

/** The task without its artifacts, and without a status message that its history ends with. */
export function toSnapshot({ artifacts, ...rest }: Task): string {
  const { status, history } = rest
  if (status.message === undefined || history?.at(-1) !== status.message) return toText(rest)
  return toText({ ...rest, status: { ...status, message: 0 } })
}

/** What `toSnapshot` wrote, with the status message that is stored once. */
export function fromSnapshot(text: unknown): Mutable<Task> {
  const task = fromText<Mutable<Task>>(text)
  const { status, history } = task
  const message = history?.at(-1)
  if ((status.message as unknown) === 0 && message) task.status = { ...status, message }
  return task
}

/** Records as texts. */
export function toRecordTexts(records: readonly LogRecord[]): RecordTexts {
  if (records.length === 0) return null
  if (records.length <= recordsPerRow) return toText(records)
  const texts: string[] = []
  for (let from = 0; from < records.length; from += recordsPerRow)
    texts.push(toText(records.slice(from, from + recordsPerRow)))
  return texts
}

/** The texts that records stand in. */
export function textsOf(records: RecordTexts): readonly string[] {
  if (records === null) return []
  return typeof records === 'string' ? [records] : records
}

/** Records as JSON text; none where there is no text. */
export function toRecords(text: unknown): readonly LogRecord[] {
  return typeof text === 'string' ? fromText<readonly LogRecord[]>(text) : []
}

type Columns = Readonly<Record<string, unknown>>

/** A row of the columns of a task's head. The tables are ours alone, so what we wrote into them is what we read. */
export function toHead(row: Columns): TaskHead {
  const flat: unknown = row
  const { id, agent, tenant, owner, contextId, state, timestamp, ...more } = flat as FlatHead // see above
  const { generation, build } = more
  const scope = { agent, tenant, owner }
  const busy = row.busy === true || row.busy === 1
  return { id, scope, contextId, state, timestamp, busy, generation, build }
}

type FlatHead = Omit<TaskHead, 'scope' | 'busy'> & Scope

/** A row of a webhook, with the columns of its task's head and the task's version. */
export function toWebhook(row: Columns): Webhook {
  return { record: toPushConfig(row), head: toHead(row), version: Number(row.version) }
}

/** A row of the webhooks table; the cursor's column is newer than the document. */
export function toPushConfig(row: Columns): PushConfigRecord {
  return { ...fromText<PushConfigRecord>(row.record), cursor: Number(row.cursor) }
}

/** A row of the dead letters. */
export function toDeadLetter(row: Columns): DeadLetter {
  return fromText<DeadLetter>(row.letter)
}

/** A row of a context's values. */
export function toContextValue({ key, value }: Columns): readonly [key: string, value: Json] {
  return [fromText<string>(key), fromText<Json>(value)]
}

/** Rows of the totals, as the number of tasks in each state that one is in. */
export function toStateCounts(rows: readonly Columns[]): StoreFacts['states'] {
  const states: Partial<Record<TaskState, number>> = {}
  for (const { state, tasks } of rows)
    if (Number(tasks) > 0) states[state as TaskState] = Number(tasks) // what the store wrote
  return states
}

/** The states of tasks that have ended, as SQL. */
export const finishedStates =
  "('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED')"

/** The states of tasks that wait for their user, as SQL. */
export const waitingStates = "('TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED')"

/** In a light list, tasks of more bytes than this come with what their heads tell alone. */
const lightBytes: number = 16 * 1024

/** In other lists, tasks of more bytes than this are read one by one, so that a page is never read as a whole. */
const largeBytes: number = 64 * 1024

/** The columns of a task's documents, as much of them as is asked for, of the table that has this name in a query. */
export function documentColumns(
  table: string,
  { artifacts = true, light = false }: TaskParts = {},
): string {
  const snapshot = `${table}.snapshot`
  // The length is known without reading the text itself.
  if (light)
    return `CASE WHEN octet_length(${snapshot}) > ${lightBytes} THEN '' ELSE ${snapshot} END AS snapshot`
  return artifacts ? `${snapshot}, ${table}.artifacts` : snapshot
}

/** The same for a list, where the documents of large tasks are left out: they are null. */
export function listedDocumentColumns(table: string, parts: TaskParts): string {
  const { artifacts = true, light } = parts
  if (light) return documentColumns(table, parts)
  const size = `octet_length(${table}.snapshot) + coalesce(octet_length(${table}.artifacts), 0)`
  const small = (column: string): string =>
    `CASE WHEN ${size} > ${largeBytes} THEN NULL ELSE ${table}.${column} END AS ${column}`
  return artifacts ? `${small('snapshot')}, ${small('artifacts')}` : small('snapshot')
}

/** The task with every record up to its version; a snapshot is older than the log while a turn is under way. */
export async function currentTask(store: Store, stored: StoredTask): Promise<Task> {
  const { head, task, version, taskVersion } = stored
  if (taskVersion === version) return task
  // Not beyond: a reader that continues from the version would get what is stored meanwhile twice.
  return foldRecords(task, await store.records(head.id, taskVersion, version - taskVersion))
}

/** The task with these further records in it. Its first message is in it from the start. */
export function foldRecords(task: Task, records: readonly LogRecord[]): Task {
  if (records.length === 0) return task
  const fold = createFold(task)
  for (const record of records) {
    if (record.kind === 'event') fold.apply(record.event)
    else if (record.kind === 'message' && record.turn > 1) fold.hear(record.message)
  }
  return fold.snapshot()
}

/** A scope as one string. Lengths go before the values, so that no two scopes read alike. */
export function scopeKey({ agent, tenant, owner }: Scope): string {
  return `${agent.length}:${tenant.length}:${owner.length}:${agent}${tenant}${owner}`
}

/** A context of a scope as one string. */
export function contextKey(scope: Scope, contextId: string): string {
  return scopeKey(scope) + contextId
}

/** Whether two scopes are the same. */
export function isSameScope(a: Scope, b: Scope): boolean {
  return a.owner === b.owner && a.agent === b.agent && a.tenant === b.tenant
}

/** The scope that a key is of; undefined for what is no key. */
export function parseScopeKey(key: string): Scope | undefined {
  const [head, ...lengths] = /^(\d{1,9}):(\d{1,9}):(\d{1,9}):/.exec(key) ?? []
  if (head === undefined) return undefined
  const [agent = 0, tenant = 0, owner = 0] = lengths.map(Number)
  const rest = key.slice(head.length)
  if (rest.length !== agent + tenant + owner) return undefined
  return {
    agent: rest.slice(0, agent),
    tenant: rest.slice(agent, agent + tenant),
    owner: rest.slice(agent + tenant),
  }
}

interface PageBounds extends Pick<ListConditions, 'limit' | 'maxBytes'> {
  /** How many match, on all pages. */
  readonly total: number
}

/**
 * A page of what was found, one more than is asked for where there is another page. Each is read only once those before
 * it have left room for it.
 */
export async function toTaskPage<T>(
  found: Iterable<T>,
  { limit, maxBytes = Number.POSITIVE_INFINITY, total }: PageBounds,
  read: (one: T) => StoredTask | undefined | Promise<StoredTask | undefined>,
): Promise<TaskPage> {
  const tasks: StoredTask[] = []
  let bytes = 0
  for (const one of found) {
    if (tasks.length === limit || bytes >= maxBytes) return { tasks, total, ...nextOf(tasks) }
    const reading = read(one)
    const stored = reading instanceof Promise ? await reading : reading
    if (!stored) continue
    tasks.push(stored)
    if (maxBytes !== Number.POSITIVE_INFINITY) bytes += weighTask(stored.task)
  }
  return { tasks, total }
}

function nextOf(tasks: readonly StoredTask[]): Pick<TaskPage, 'next'> {
  const last = tasks.at(-1)?.head
  return last ? { next: { timestamp: last.timestamp, id: last.id } } : {}
}

/** What the head of a task tells, as a task. */
export function taskOfHead({ id, contextId, state, timestamp }: TaskHead): Task {
  return { id, contextId, status: { state, timestamp } }
}

/** A stored task as a list shows it: without artifacts where they are not asked for. */
export function shownIn({ artifacts = true, light }: TaskParts, stored: StoredTask): StoredTask {
  if ((artifacts && !light) || stored.task.artifacts === undefined) return stored
  const { artifacts: _, ...task } = stored.task
  return { ...stored, task }
}

/** Whether one place comes before another in the order of timestamp, then id. */
export function isBefore(a: TaskCursor, b: TaskCursor): boolean {
  return a.timestamp < b.timestamp || (a.timestamp === b.timestamp && a.id < b.id)
}

/** The tasks that a process takes on where it has the store to itself: the busy ones, oldest first. */
export function claimable(
  heads: Iterable<TaskHead>,
  { agent, limit, after }: ClaimRequest = {},
): readonly TaskHead[] {
  const busy: TaskHead[] = []
  for (const head of heads) {
    const isWanted = agent === undefined || head.scope.agent === agent
    if (head.busy && isWanted && (!after || isBefore(after, head))) busy.push(head)
  }
  return busy.sort((a, b) => (isBefore(a, b) ? -1 : 1)).slice(0, limit)
}

/** The most tasks of a context, and bytes of them, to read; a longer conversation is cut at its beginning. */
const maxTasks = 50
const maxBytes = 8 * 1024 * 1024

/** The last messages of a context, oldest first, across its tasks; answers appear as agent messages. */
export async function conversationOf(
  store: Store,
  options: { readonly scope: Scope; readonly contextId: string; readonly limit: number },
): Promise<readonly Message[]> {
  const { scope, contextId, limit } = options
  // Each task has at least one message.
  const most = Math.min(limit, maxTasks)
  const { tasks } = await store.list({ scope, contextId, limit: most, maxBytes, counted: false })
  const messages = tasks
    .map(({ task }) => task)
    .reverse()
    .flatMap(spoken)
  return messages.slice(-limit)
}

/** The messages of a task: its history, and its answer where that is in artifacts. */
function spoken(task: Task): readonly Message[] {
  const history = task.history ?? []
  if (!task.artifacts?.length) return history
  const answer: Message = {
    messageId: `${task.id}-answer`,
    contextId: task.contextId,
    taskId: task.id,
    role: 'ROLE_AGENT',
    parts: answerParts(task),
  }
  return [...history, answer]
}

/** The store could not be read. */
export function toReadError(thrown: unknown): A2AError {
  if (thrown instanceof A2AError) return thrown
  return new A2AError('unavailable', 'The task store cannot be read', {
    cause: thrown,
    why: 'storeDown',
  })
}

/** An entry of the trace in a log. */
export type TracedRecord = Extract<LogRecord, { readonly kind: 'trace' }>

/** An entry of the trace for callers without the scope `operator`: without what a tool threw. */
export function withoutError(record: TracedRecord): TracedRecord {
  const { entry, failure } = record
  if (!failure || !('result' in entry)) return record
  return { ...record, entry: { ...entry, result: 'Error: The tool failed' } }
}

/** How many of the webhook deliveries that were given up are read. */
const maxLetters = 500

/** How many failures of one task are explained. */
const maxExplained = 20

/**
 * What failed in a stored task: first what ended it, then what failed on the way, the latest first, then its webhooks. A log
 * of an earlier version has no words: then the code in the status message is explained.
 */
export async function explainStored(
  store: Store,
  { id, status }: Pick<Task, 'id' | 'status'>,
  records: readonly LogRecord[],
): Promise<readonly Explanation[]> {
  const stored = await store.get(id, undefined, { light: true })
  if (!stored) return []
  const { scope } = stored.head
  const { agent } = scope
  const { state, message } = status
  const letters = await store.deadLetters(maxLetters, scope)
  const noted = records.flatMap((record): readonly FailureNote[] => {
    if (record.kind === 'event') return record.failure ? [record.failure] : []
    if (record.kind !== 'trace' || !record.failure) return []
    return [{ member: memberIn(record.entry), ...record.failure }]
  })
  const isEnded = /FAILED|REJECTED|AUTH_REQUIRED/.test(state)
  const ended = records.flatMap((record) =>
    record.kind === 'event' && record.failure ? [record.failure] : [],
  )
  const code = isEnded && ended.length === 0 ? codeOf(message) : undefined
  const all = [
    ...(code === undefined ? [] : [{ cause: code, words: [], attempt: 1 }]),
    ...noted.toReversed(),
    ...letters.filter(({ taskId }) => taskId === id).map(noteOf),
  ]
  const unique = new Map(all.map((note) => [keyOf(note, agent), note]))
  const end = code === undefined ? ended.at(-1) : all[0]
  const endKey = isEnded && end ? keyOf(end, agent) : undefined
  // An agent may say itself that the task has failed: then any of them may be the reason.
  const isKnown = endKey !== undefined || state !== 'TASK_STATE_FAILED'
  return [...unique]
    .slice(0, maxExplained)
    .map(([key, note]) =>
      explain({ ...note, member: note.member || agent }, isKnown && key !== endKey),
    )
}

/** The end of a task repeats the failure of the member that ended it. */
function keyOf({ cause, words, attempt, member }: FailureNote, agent: string): string {
  return JSON.stringify([cause, words, attempt, member || agent])
}

/** The member that an entry is about: the one it names, else the last on the path by which it was reached. */
function memberIn({ member, at, agent }: Readonly<Record<string, unknown>>): string {
  if (typeof member === 'string') return member
  if (typeof at === 'string') return at.slice(at.lastIndexOf(':') + 1)
  return typeof agent === 'string' ? agent : ''
}

function codeOf(message: Message | undefined): string | undefined {
  const value = message?.metadata?.[errorExtension]
  return isFields(value) && typeof value.code === 'string' ? value.code : undefined
}

function noteOf({ configId, reason, attempts }: DeadLetter): FailureNote {
  return { cause: 'webhook', words: [reason], attempt: attempts, member: `webhook ${configId}` }
}
