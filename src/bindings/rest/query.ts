import { type OperationName, operations, type QueryKind } from '../../protocol/operations.ts'
import { decodeState } from '../dialects/lenient/message.ts'

/** The known parameters of a query, typed; snake_case names are read too. What cannot be read as its type stays text, and the schema refuses it. */
export function decodeQuery(
  operation: OperationName,
  query: string,
): Readonly<Record<string, unknown>> {
  const known = operations[operation].rest.query
  const out: Record<string, unknown> = {}
  if (query === '' || !known) return out
  for (const [key, value] of new URLSearchParams(query)) {
    const name = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const kind = Object.hasOwn(known, name) ? known[name] : undefined
    if (kind !== undefined && value !== '') out[name] = read(value, kind)
  }
  return out
}

/** The query of a request, with its question mark; empty if there is nothing to say. */
export function encodeQuery(operation: OperationName, request: object): string {
  const known = operations[operation].rest.query ?? {}
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(request))
    if (value !== undefined && name !== 'tenant' && Object.hasOwn(known, name))
      query.set(name, String(value))
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

function read(value: string, kind: QueryKind): unknown {
  if (kind === 'integer') return /^-?\d{1,15}$/.test(value) ? Number(value) : value
  if (kind === 'boolean') return value === 'true' ? true : value === 'false' ? false : value
  return kind === 'state' ? decodeState(value) : value
}
