import { at, Invalid, type Issue, validationError } from '../model/invalid.ts'
import { valueError } from '../python/error.ts'
import { type Instance, isDict, isList, type Value } from '../python/value.ts'
import { createImage, type Image } from './image.ts'
import type { BaseTable, RowKey, TableType } from './table.ts'

/** A kind of database: the name of its model, and its tables in the order of the model's fields. */
export interface DatabaseType {
  readonly name: string
  readonly tables: Readonly<Record<string, TableType>>
}

/** A database as it was loaded. */
export interface Base {
  readonly type: DatabaseType
  readonly tables: ReadonlyMap<string, BaseTable>
  /** The text that its hash is made of, written when it is first asked for. */
  image(): Image
}

/**
 * Checks the data of a database.
 *
 * @throws PythonError with pydantic's words for every fault.
 */
export function createBase(type: DatabaseType, data: Value): Base {
  if (!isDict(data)) throw valueError(`The data of ${type.name} is no dictionary`)
  const tables = Object.entries(type.tables).map(([name, table]): [string, BaseTable] => {
    const rows = readTable(table, data.get(name))
    if (rows instanceof Invalid) throw validationError(type.name, new Invalid(at(name, rows)))
    return [name, rows]
  })
  return baseOf(type, new Map(tables))
}

/** A database of tables that have been checked. */
export function baseOf(type: DatabaseType, tables: ReadonlyMap<string, BaseTable>): Base {
  let image: Image | undefined
  return {
    type,
    tables,
    image() {
      image ??= createImage(tables)
      return image
    },
  }
}

/** The rows of a table, checked. */
export function readTable(type: TableType, data: Value | undefined): BaseTable | Invalid {
  const given = data ?? type.absent?.()
  if (given === undefined) throw valueError('A table is missing')
  const rows = new Map<RowKey, Instance>()
  const issues: Issue[] = []
  for (const [key, value] of keyed(type, given)) {
    const row = readRow(type, value)
    if (row instanceof Invalid) issues.push(...at(key, row))
    else rows.set(key, row)
  }
  return issues.length > 0 ? new Invalid(issues) : { type, rows }
}

/** One row, checked. */
export function readRow({ row }: TableType, value: Value): Instance | Invalid {
  // A model's check gives an instance of that model, or what is wrong.
  return row.check(value) as Instance | Invalid
}

function keyed({ shape }: TableType, data: Value): [RowKey, Value][] {
  if (shape === 'one') return [[0, data]]
  if (shape === 'list' && isList(data)) return data.map((row, index) => [index, row])
  if (shape === 'dict' && isDict(data)) return [...data]
  throw valueError(`A table is no ${shape}`)
}
