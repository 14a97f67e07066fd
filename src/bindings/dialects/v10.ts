import {
  A2AError,
  type ErrorCode,
  type ErrorDetails,
  errorCodes,
  errorRow,
} from '../../protocol/errors.ts'
import {
  type DialectName,
  type OperationName,
  type OperationRow,
  operationNames,
  operations,
  type RequestOf,
} from '../../protocol/operations.ts'
import type { Dialect, DialectMethod, HttpDialect, RestError, RpcError } from './dialect.ts'
import { asRaw, methodDecoder, type Raw, requestDecoder } from './lenient.ts'
import { decodeEvent, decodeResult } from './lenient-results.ts'

/** A2A 1.0: PascalCase methods; the slash names are aliases where the version header says 1.0. */
export const v10: Dialect = createCanonicalDialect('1.0', (name, row) => [name, ...row.slashNames])

/** A2A 1.0-rc: the types of 1.0 under slash names. */
export const rc: Dialect = createCanonicalDialect('1.0-rc', (_, row) => row.slashNames)

/** The method names of an operation; clients write the first. */
type MethodNames = (name: OperationName, row: OperationRow) => readonly string[]

/** A dialect that speaks the canonical model itself; only its method names are its own. */
function createCanonicalDialect(name: DialectName, namesOf: MethodNames): Dialect {
  const methods = methodTable(namesOf)
  const preferred = new Map(operationNames.map((one) => [one, namesOf(one, operations[one])[0]]))
  return {
    name,
    isCanonical: true,
    methods,
    encodeEvent: (event) => event,
    encodeError: toRpcError10,
    encodeRequest: (operation, request) => ({
      method: preferred.get(operation) ?? operation,
      params: request,
    }),
    decodeResult,
    decodeEvent,
    decodeError: (error) => fromRpcError(error, name),
  }
}

function methodTable(namesOf: MethodNames): ReadonlyMap<string, DialectMethod> {
  const methods = new Map<string, DialectMethod>()
  for (const operation of operationNames) {
    const method = { operation, decode: methodDecoder(operations[operation].takes) }
    for (const name of namesOf(operation, operations[operation])) methods.set(name, method)
  }
  return methods
}

/** The specification whose HTTP statuses errors carry, and whose media type answers have. */
export type ErrorTable = '1.0.0' | '1.0.1'

// Specification 1.0.0 had the general media type; the old statuses come with it.
const headers = {
  '1.0.0': { 'content-type': 'application/json' },
  '1.0.1': { 'content-type': 'application/a2a+json' },
} as const

/** HTTP+JSON 1.0: bodies are the canonical model; path parameters win over the body. */
export function rest10(errorTable: ErrorTable = '1.0.1'): HttpDialect {
  return {
    name: '1.0',
    isCanonical: true,
    paths: {},
    headers: headers[errorTable],
    decodeRequest: (name, { body, params, query }) => {
      if (body !== undefined && !asRaw(body)) return body
      const decode = requestDecoder(operations[name].takes)
      const decoded = asRaw(decode({ ...asRaw(body), ...params }))
      return { ...query, ...decoded }
    },
    encodeResult: (_, result) => result ?? {},
    encodeEvent: (event) => event,
    encodeError: (error) => encodeError(error, errorTable),
    contentType: 'application/a2a+json',
    baseUrl: (url, tenant) => (tenant ? `${url}/${encodeURIComponent(tenant)}` : url),
    encodeRequest,
    decodeResult,
    decodeEvent,
  }
}

// What may be asked for by GET as well says all it has to say in its path.
function encodeRequest<N extends OperationName>(name: N, request: RequestOf<N>): unknown {
  return operations[name].rest.verbs.includes('GET') ? {} : request
}

function encodeError(error: A2AError, errorTable: ErrorTable): RestError {
  const row = errorRow(error.code)
  const status = errorTable === '1.0.0' ? (row.http100 ?? row.http) : row.http
  return {
    status,
    body: {
      error: { code: status, status: row.grpc, message: error.message, details: toDetails(error) },
    },
  }
}

const errorInfoType = 'type.googleapis.com/google.rpc.ErrorInfo'

const badRequestType = 'type.googleapis.com/google.rpc.BadRequest'

const domain = 'a2a-protocol.org'

/** A JSON-RPC error of 1.0 and 1.0-rc. */
export function toRpcError10(error: A2AError): RpcError {
  return { code: errorRow(error.code).jsonrpc, message: error.message, data: toDetails(error) }
}

/** The `details` of REST and the `data` of 1.0 JSON-RPC: an ErrorInfo, and a BadRequest where fields are at fault. */
function toDetails(error: A2AError): readonly object[] {
  const { metadata, violations, reason = errorRow(error.code).reason } = error.details
  const info = {
    '@type': errorInfoType,
    reason,
    domain,
    ...(metadata ? { metadata } : {}),
  }
  return violations?.length
    ? [info, { '@type': badRequestType, fieldViolations: violations }]
    : [info]
}

/** A JSON-RPC error of a dialect whose `data` is a plain object. */
export function toPlainRpcError(error: A2AError, dialect: '0.3' | 'ranch'): RpcError {
  const { metadata, violations, reason = reasonOf(error.code, dialect) } = error.details
  const data = {
    reason,
    ...(violations?.length ? { fieldViolations: violations } : {}),
    ...(metadata ? { metadata } : {}),
  }
  return { code: numberOf(error.code, dialect), message: error.message, data }
}

/** The number that a dialect gives an error. */
function numberOf(code: ErrorCode, dialect: DialectName): number {
  const row = errorRow(code)
  if (dialect === 'ranch') return row.ranch
  return dialect === '1.0' || dialect === '1.0-rc' ? row.jsonrpc : (row.v03 ?? row.jsonrpc)
}

function reasonOf(code: ErrorCode, dialect: DialectName): string {
  const { reason, ranchReason = reason } = errorRow(code)
  return dialect === 'ranch' ? ranchReason : reason
}

/**
 * The error that a peer's JSON-RPC error is. The number decides, read in the peer's dialect; among codes that share it
 * the reason does, and without one the first of the table.
 */
export function fromRpcError(error: RpcError, dialect: DialectName): A2AError {
  const { reason, details } = readDetails(error.data)
  const numbered = errorCodes.filter((code) => numberOf(code, dialect) === error.code)
  const code =
    numbered.find((candidate) => reasonOf(candidate, dialect) === reason) ??
    standard.get(error.code) ??
    numbered[0] ??
    codeOfReason(reason) ??
    'internal'
  return new A2AError(code, error.message, details)
}

// Several codes leave as one of these; a stranger's means the plain one.
const standard: ReadonlyMap<number, ErrorCode> = new Map([
  [-32600, 'invalidRequest'],
  [-32601, 'methodNotFound'],
  [-32602, 'invalidParams'],
  [-32603, 'internal'],
])

/** The error code that an ErrorInfo reason names. */
export function codeOfReason(reason: string | undefined): ErrorCode | undefined {
  return reason === undefined
    ? undefined
    : errorCodes.find((code) => errorRow(code).reason === reason)
}

/** Reason and details of an error's `data` or `details`, whichever dialect wrote them. */
export function readDetails(data: unknown): { reason?: string; details: ErrorDetails } {
  const entries = (Array.isArray(data) ? data : [data])
    .map(asRaw)
    .filter((raw) => raw !== undefined)
  const info = entries.find((raw) => typeof raw.reason === 'string')
  const bad = entries.find((raw) => Array.isArray(raw.fieldViolations))
  const violations = readViolations(bad)
  const metadata = readMetadata(info)
  return {
    ...(typeof info?.reason === 'string' ? { reason: info.reason } : {}),
    details: {
      ...(isFiner(info?.reason) ? { reason: info.reason } : {}),
      ...(violations ? { violations } : {}),
      ...(metadata ? { metadata } : {}),
    },
  }
}

/** Whether a reason is one that ErrorInfo allows and that is no code's own. */
function isFiner(reason: unknown): reason is string {
  return (
    typeof reason === 'string' && /^[A-Z][A-Z0-9_]{1,61}$/.test(reason) && !ownReasons.has(reason)
  )
}

const ownReasons: ReadonlySet<string> = new Set(
  errorCodes.flatMap((code) => [errorRow(code).reason, errorRow(code).ranchReason ?? []].flat()),
)

function readViolations(bad: Raw | undefined): ErrorDetails['violations'] {
  if (!Array.isArray(bad?.fieldViolations)) return undefined
  return bad.fieldViolations
    .map(asRaw)
    .filter((raw) => raw !== undefined)
    .map((raw) => ({ field: String(raw.field ?? ''), description: String(raw.description ?? '') }))
}

function readMetadata(info: Raw | undefined): Record<string, string> | undefined {
  const metadata = asRaw(info?.metadata)
  if (!metadata) return undefined
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, String(value)]))
}
