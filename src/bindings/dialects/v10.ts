import { type OperationName, operationNames } from '../../protocol/operations.ts'
import { createCanonicalDialect, slashNames } from './canonical.ts'
import type { Dialect } from './dialect.ts'

/** A2A 1.0: PascalCase methods; the slash names are aliases where the version header says 1.0. */
export const v10: Dialect = createCanonicalDialect('1.0', methodNames())

function methodNames(): Record<OperationName, readonly string[]> {
  const names: Record<OperationName, readonly string[]> = { ...slashNames }
  for (const name of operationNames) names[name] = [name, ...slashNames[name]]
  return names
}
