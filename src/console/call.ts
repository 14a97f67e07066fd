import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ConsoleHost } from '../server/console.ts'
import { isFields } from '../shared/json.ts'
import type { StoredTask, TaskParts } from '../store/store.ts'
import type { Viewer } from './viewer.ts'

/** One request of the page, of a caller who may make it. */
export interface ApiCall {
  readonly viewer: Viewer
  /** Whose share it is taken from; empty where nobody knows. */
  readonly principal: string
  readonly request: HttpRequest
  readonly query: URLSearchParams
  /** What stands in the path in the place of `ID`. */
  readonly id: string
  /** Whether only this machine reaches the server. */
  readonly isLocal: boolean
}

/** Answers one kind of request. @throws A2AError that becomes the refusal. */
export type ApiHandler = (call: ApiCall) => HttpReply | Promise<HttpReply>

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
  const stored = await store.get(id, undefined, parts)
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
