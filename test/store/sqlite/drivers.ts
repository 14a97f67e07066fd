import type { DriverName } from '../../../src/store/sqlite/driver.ts'

/** The drivers of this runtime: libsql runs on every version of Node, node:sqlite is there from 22.13 on. */
export const drivers: readonly DriverName[] = process.getBuiltinModule('node:sqlite')
  ? ['node', 'libsql']
  : ['libsql']
