import type { DialectName } from '../../../protocol/call.ts'
import {
  type OperationName,
  type OperationRow,
  operationNames,
  operations,
} from '../../../protocol/operations.ts'
import type { Dialect, DialectMethod } from '../dialect.ts'
import { fromRpcError, toRpcError10 } from '../errors.ts'
import { requestDecoder } from '../lenient/requests.ts'
import { decodeEvent, decodeResult } from '../lenient/results.ts'

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
    const decode = requestDecoder(operations[operation].takes)
    const method: DialectMethod = {
      operation,
      decode: (params) => ({ request: decode(params) }),
      encode: (result) => result,
    }
    for (const name of namesOf(operation, operations[operation])) methods.set(name, method)
  }
  return methods
}
