import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import {
  type Asker,
  type AuthContext,
  isOperator,
  reachesAgent,
  type ScopeName,
} from '../protocol/operations.ts'
import type { ConsoleHost } from '../server/options.ts'
import { myTurn } from '../shared/async.ts'
import { isFields } from '../shared/json.ts'
import { toReadError } from '../store/documents.ts'
import { weighRecords } from '../store/size-limits.ts'
import type { LogRecord, Scope, Store, StoredTask, TaskHead, TaskParts } from '../store/store.ts'

/** Answers one kind of request. @throws A2AError that becomes the refusal. */
export type ApiHandler = (call: ApiCall) => HttpReply | Promise<HttpReply>

/** One request of the page, of a caller who may make it. */
export interface ApiCall {
  readonly viewer: Viewer
  /** The principal that it is counted against; empty where it is unknown. */
  readonly principal: string
  readonly request: HttpRequest
  readonly query: URLSearchParams
  /** What stands in the path in the place of `ID`. */
  readonly id: string
  /** Whether only this machine reaches the server. */
  readonly isLocal: boolean
}

/** Who looks at the console, and what that caller may see. */
export interface Viewer {
  readonly auth: AuthContext
  /** Whether the tasks of all are shown. */
  readonly isOperator: boolean
  /** Whether an agent may be asked about with this credential. */
  reaches(agentId: string): boolean
  /** Whether a task is the caller's own. */
  owns(head: TaskHead): boolean
  /** Whether a task may be shown. */
  sees(head: TaskHead): boolean
  /** The scopes in which the caller's own tasks of an agent are listed. */
  scopesOf(agentId: string): readonly Scope[]
}

const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }

/** The reply that carries a value of `api.ts`. */
export function ok<T>(value: T): HttpReply {
  return { status: 200, headers, body: JSON.stringify(value) }
}

/**
 * A task that the caller may see.
 * @throws A2AError `taskNotFound`, the same whether it is not there or not the caller's.
 */
export async function findTask(
  { store }: ConsoleHost,
  { id, viewer }: ApiCall,
  parts?: TaskParts,
): Promise<StoredTask> {
  const stored = await store.get(id, undefined, parts).catch((thrown: unknown) => {
    throw toReadError(thrown)
  })
  if (stored && viewer.sees(stored.head)) return stored
  throw new A2AError('taskNotFound', 'There is no such task, or it is not yours')
}

/** The object that a request carries. @throws A2AError `invalidParams`. */
export function bodyOf({ request: { body, fault } }: ApiCall): Readonly<Record<string, unknown>> {
  if (fault) throw fault
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    throw new A2AError('invalidParams', 'The body must be JSON')
  }
  if (!isFields(value)) throw new A2AError('invalidParams', 'The body must be an object')
  return value
}

/** Who asks why something failed. */
export function asker({ viewer, request }: Pick<ApiCall, 'viewer' | 'request'>): Asker {
  return { auth: viewer.auth, ...(request.isLocal && { isLocal: true }) }
}

/** A number of the query within bounds. @throws A2AError `invalidParams`. */
export function numberOf(
  query: URLSearchParams,
  name: string,
  { fallback, max }: { readonly fallback: number; readonly max: number },
): number {
  const text = query.get(name)
  if (text === null || text === '') return fallback
  const value = Number(text)
  if (Number.isInteger(value) && value >= 0) return Math.min(value, max)
  throw new A2AError('invalidParams', `${name} must be a whole number from 0 to ${max}`)
}

/** A request of the page names no tenant. */
const noTenant: readonly string[] = ['']

/** What is known of a caller as a viewer. A credential for certain tenants sees its own tasks alone, operator or not. */
export function toViewer(auth: AuthContext): Viewer {
  const { userId: owner, tenants } = auth
  const seesAll = isOperator({ auth })
  const reaches = (agentId: string): boolean => reachesAgent(auth, agentId)
  const own = tenants ?? noTenant
  const owns = ({ scope }: TaskHead): boolean => scope.owner === owner && own.includes(scope.tenant)
  return {
    auth,
    isOperator: seesAll,
    reaches,
    owns,
    sees: (head) => reaches(head.scope.agent) && (seesAll || owns(head)),
    scopesOf: (agent) => own.map((tenant) => ({ agent, tenant, owner })),
  }
}

const implied: readonly ScopeName[] = ['tasks:read', 'tasks:write', 'push']

/** The scopes that a caller has, also where its credential names none. */
export function scopesShown(auth: AuthContext): readonly string[] {
  const named = auth.scopes ?? []
  return implied.some((scope) => named.includes(scope)) || named.includes('operator')
    ? named
    : [...implied, ...named]
}

/** So many of a list are looked at before others have their turn. */
const perSlice = 8

/** Does the same for each of many, some at a time, and lets others do something in between. */
export async function inSlices<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = []
  for (let from = 0; from < items.length; from += perSlice) {
    if (from > 0) await myTurn()
    results.push(...(await Promise.all(items.slice(from, from + perSlice).map(work))))
  }
  return results
}

interface Stretch {
  readonly after: number
  /** The most records, and about the most bytes. */
  readonly limit: number
  readonly maxBytes: number
}

/** Records that are read at once; as many as a row of a store has, at most. */
const perRead = 128

/** Reads a part of a log that may be long, piece by piece. */
export async function readLog(
  store: Store,
  id: string,
  { after, limit, maxBytes }: Stretch,
): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = []
  let bytes = 0
  while (records.length < limit && bytes < maxBytes) {
    if (records.length > 0) await myTurn()
    const wanted = Math.min(perRead, limit - records.length)
    const page = await store.records(id, records.at(-1)?.seq ?? after, wanted)
    bytes += weighRecords(page)
    records.push(...page)
    if (page.length < wanted) break
  }
  return records
}
