import { A2AError } from '../protocol/errors.ts'
import { hasScope } from '../protocol/scopes.ts'
import { taskStates } from '../protocol/task.ts'
import type { JsonObject, TaskState } from '../protocol/types.ts'
import type { ConsoleHost } from '../server/console.ts'
import { currentTask } from '../store/current.ts'
import type { LogRecord } from '../store/store.ts'
import type { RecordsAnswer, TaskAnswer, TaskRecord, TasksAnswer } from './api.ts'
import { type ApiCall, type ApiHandler, findTask, numberOf, ok } from './call.ts'
import { budgetOf, teamOf } from './graph.ts'
import { toListedTask } from './listed-task.ts'
import { createTaskPages, toCursor } from './pages.ts'
import { inSlices, readLog } from './slices.ts'
import type { TaskReader } from './task-reader.ts'
import type { Viewer } from './viewer.ts'
import { queueOf } from './webhooks.ts'

/** About so many bytes of records go into one answer, and one more record; the page asks for what follows. */
const maxRecordBytes = 4 * 1024 * 1024

/** What the views of tasks ask for. */
interface TaskHandlers {
  readonly list: ApiHandler
  readonly one: ApiHandler
  readonly records: ApiHandler
}

/** Makes the handlers of `tasks`, `tasks/ID` and `tasks/ID/records`. */
export function createTaskHandlers(host: ConsoleHost, reader: TaskReader): TaskHandlers {
  const { store, mounts } = host
  const readPage = createTaskPages(host, reader)

  async function list({ query, viewer }: ApiCall): Promise<TasksAnswer> {
    const limit = Math.max(1, numberOf(query, 'limit', { fallback: 50, max: 200 }))
    const text = query.get('text')?.toLowerCase() || undefined
    const cursor = toCursor(query.get('cursor'))
    const { tasks, next, total } = await readPage(viewer, {
      limit,
      ...given('agent', query.get('agent')),
      ...given('state', stateOf(query.get('state'))),
      ...given('contextId', query.get('context')),
      ...(text !== undefined && { text }),
      ...(cursor && { cursor }),
    })
    const rows = await inSlices(tasks, (stored) => toListedTask(stored, viewer, reader))
    return {
      rows,
      ...(next !== undefined && { next }),
      ...(total !== undefined && { total }),
    }
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
    return {
      ...(await toListedTask(stored, call.viewer, reader)),
      agentName: name,
      ...(createdAt !== undefined && { createdAt }),
      busy: head.busy,
      version,
      trace: trace && showsTrace(host, call.viewer),
      history: task.history ?? [],
      ...budgetOf(mount && teamOf(mount.agent())),
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
    const shown = found.flatMap((record) => toShown(record, host, call.viewer))
    const upTo = found.at(-1)?.seq ?? Math.min(after, version)
    return { records: shown, upTo, version: Math.max(version, upTo) }
  }

  return {
    list: async (call) => ok(await list(call)),
    one: async (call) => ok(await one(call)),
    records: async (call) => ok(await records(call)),
  }
}

/** The trace is shown where the server shows it to callers, and to operators anyway. */
export function showsTrace({ options }: ConsoleHost, { isOperator }: Viewer): boolean {
  return isOperator || options.trace !== false
}

/** Events for all, the trace where it is on, everything else for operators alone. */
function toShown(record: LogRecord, host: ConsoleHost, viewer: Viewer): readonly TaskRecord[] {
  if (record.kind === 'event') return [record]
  if (record.kind === 'trace') return showsTrace(host, viewer) ? [record] : []
  if (!viewer.isOperator) return []
  const { seq, kind, ...rest } = record
  if (record.kind === 'message') return [{ seq, kind: 'message', message: record.message }]
  const data: JsonObject = JSON.parse(JSON.stringify(rest)) // records are plain data
  return [{ seq, kind: 'internal', name: kind, data }]
}

function stateOf(text: string | null): TaskState | undefined {
  if (text === null || text === '') return undefined
  const state = taskStates.find((one) => one === text)
  if (state) return state
  throw new A2AError('invalidParams', `state must be one of ${taskStates.join(', ')}`)
}

function given<K extends string, V>(key: K, value: V | null | undefined | ''): { [P in K]?: V } {
  return value === null || value === undefined || value === ''
    ? {}
    : ({ [key]: value } as { [P in K]: V }) // the one key that is given
}
