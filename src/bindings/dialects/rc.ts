import { createCanonicalDialect, slashNames } from './canonical.ts'
import type { Dialect } from './dialect.ts'

/** A2A 1.0-rc (002): the types of 1.0 under slash names. */
export const rc: Dialect = createCanonicalDialect('1.0-rc', slashNames)
