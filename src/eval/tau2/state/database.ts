import { at, Invalid, invalid, validationError } from '../model/invalid.ts'
import { deepCopy, dump } from '../model/model.ts'
import { attributeError, type PythonError } from '../python/error.ts'
import { type Dict, type Instance, isDict, type Value } from '../python/value.ts'
import { type Base, baseOf, readRow, readTable } from './base.ts'
import { type BaseTable, createTable, type RowKey, type Table } from './table.ts'

/** One world's view of a database: the shared base, and copies of the rows that this world changed. */
export interface Database {
  /** The name of its model. */
  readonly name: string
  /**
   * A table by its name.
   *
   * @throws PythonError where the database has none: a task's data may give the user's tools the agent's database.
   */
  table<T extends Instance>(name: string): Table<T>
  hash(): string
  /** The database after a deep merge of data, checked again; the rows that the data does not name stay shared. */
  updated(data: Value): Database
  /** All of it as plain values. */
  dump(): Value
  /** How many rows this world has copied or added, and how many there are. */
  copies(): { readonly rows: number; readonly total: number }
}

/** Opens a base for one world. Nothing is copied until a row is changed. */
export function openDatabase(base: Base): Database {
  const tables = new Map([...base.tables].map(([name, table]) => [name, createTable(table)]))
  const all = [...tables.values()]
  return {
    name: base.type.name,
    table<T extends Instance>(name: string) {
      const found: object | undefined = tables.get(name)
      if (!found) throw attributeError({ type: base.type.name }, name)
      // The base was checked against the models of its rows; a domain asks for its own tables.
      return found as Table<T>
    },
    hash: () =>
      base.image().hash(new Map([...tables].map(([name, table]) => [name, table.changes]))),
    updated: (data) => openDatabase(merge(base, tables, data)),
    dump: () => new Map([...tables].map(([name, table]) => [name, dump(dataOf(table))])),
    copies: () => ({ rows: sum(all, (t) => t.changes.size), total: sum(all, (t) => t.size()) }),
  }
}

function sum(
  tables: readonly Table<Instance>[],
  count: (table: Table<Instance>) => number,
): number {
  return tables.reduce((total, table) => total + count(table), 0)
}

function dataOf(table: Table<Instance>): Value {
  const rows = [...table.entries()]
  if (table.type.shape === 'one') return rows[0]?.[1] ?? null
  if (table.type.shape === 'list') return rows.map(([, row]) => row)
  return new Map(rows.map(([key, row]) => [String(key), row]))
}

/** tau2's `update_db`: dicts are merged at every depth, everything else is replaced. */
function merge(base: Base, tables: ReadonlyMap<string, Table<Instance>>, data: Value): Base {
  const given: ReadonlyMap<string, Value> = isDict(data) ? data : new Map()
  const strangers = [...given].filter(([name]) => !base.tables.has(name))
  if (strangers.length > 0) throw unknownTables(base, strangers)
  const merged = [...base.tables].map(([name, table]): [string, BaseTable] => {
    const [over, world] = [given.get(name), tables.get(name)]
    if (!world || (over === undefined && world.changes.size === 0)) return [name, table]
    const rows = over === undefined ? settled(table, world) : mergeTable(world, over)
    if (rows instanceof Invalid) throw validationError(base.type.name, new Invalid(at(name, rows)))
    return [name, rows]
  })
  return baseOf(base.type, new Map(merged))
}

function unknownTables({ type }: Base, strangers: readonly [string, Value][]): PythonError {
  const words = 'Extra inputs are not permitted'
  const issues = strangers.flatMap(([name, value]) =>
    at(name, invalid('extra_forbidden', words, value)),
  )
  return validationError(type.name, new Invalid(issues))
}

function settled({ type }: BaseTable, world: Table<Instance>): BaseTable {
  return { type, rows: new Map(world.entries()) }
}

function mergeTable(world: Table<Instance>, over: Value): BaseTable | Invalid {
  const { type } = world
  if (type.shape === 'one') return readTable(type, mergeValues(dump(dataOf(world)), over))
  if (type.shape === 'list' || !isDict(over)) return readTable(type, over)
  const rows = new Map<RowKey, Instance>(world.entries())
  for (const [key, value] of over) {
    const before = rows.get(key)
    const row = readRow(type, before ? mergeValues(dump(before), value) : value)
    if (row instanceof Invalid) return new Invalid(at(key, row))
    rows.set(key, row)
  }
  return { type, rows }
}

function mergeValues(value: Value, over: Value): Value {
  if (!isDict(value) || !isDict(over)) return deepCopy(over)
  const merged: Dict = new Map(value)
  for (const [key, item] of over) {
    const before = merged.get(key)
    merged.set(key, before === undefined ? deepCopy(item) : mergeValues(before, item))
  }
  return merged
}
