import { deepCopy, type Model } from '../model/model.ts'
import { keyError } from '../python/error.ts'
import { keyOf } from '../python/methods.ts'
import type { Instance, Value } from '../python/value.ts'

/** The key of a row: its key in a dict, its index in a list; a table of one row has the key 0. */
export type RowKey = string | number

/** How a table lies in its database, and what its rows are. */
export interface TableType {
  readonly shape: 'dict' | 'list' | 'one'
  readonly row: Model<Instance>
  /** The rows where a file has none: an error if absent. */
  readonly absent?: () => Value
}

/** A table as it was loaded: shared by all worlds, changed by none. */
export interface BaseTable {
  readonly type: TableType
  readonly rows: ReadonlyMap<RowKey, Instance>
}

/** A row that belongs to all worlds: to change it, `edit` gives this world's own copy. */
export type SharedRow<T> = [Value] extends [T]
  ? T
  : T extends ReadonlyMap<infer K, infer V>
    ? ReadonlyMap<K, SharedRow<V>>
    : T extends readonly (infer E)[]
      ? readonly SharedRow<E>[]
      : T extends object
        ? { readonly [K in keyof T]: SharedRow<T[K]> }
        : T

/** The rows of one table as a world sees them. */
export interface Table<T extends Instance> {
  readonly type: TableType
  size(): number
  /** A row to read; a key that no dict can have raises as in Python. */
  get(key: Value | number): SharedRow<T> | undefined
  /**
   * This world's own copy of a row, made when it is first asked for.
   *
   * @throws PythonError KeyError where there is none.
   */
  edit(key: Value | number): T
  /** Puts a row into its place, or behind all others. */
  put(key: RowKey, row: T): void
  /** All rows, in the order of the file, added ones last. */
  entries(): IterableIterator<[RowKey, SharedRow<T>]>
  values(): IterableIterator<SharedRow<T>>
  /** The rows that differ from the base. */
  readonly changes: ReadonlyMap<RowKey, Instance>
}

/** A table of a world over the base's rows; copies are made row by row, when a row is first edited. */
export function createTable<T extends Instance>(base: BaseTable): Table<T> {
  const changes = new Map<RowKey, Instance>()
  const find = (key: RowKey): Instance | undefined => changes.get(key) ?? base.rows.get(key)
  function* entries(): IterableIterator<[RowKey, SharedRow<T>]> {
    for (const [key, row] of base.rows) yield [key, shared(changes.get(key) ?? row)]
    for (const [key, row] of changes) if (!base.rows.has(key)) yield [key, shared(row)]
  }
  // The base was checked against the model of T, and only rows of T are put.
  const shared = (row: Instance): SharedRow<T> => row as SharedRow<T>
  return {
    type: base.type,
    changes,
    size() {
      return [...changes.keys()].filter((key) => !base.rows.has(key)).length + base.rows.size
    },
    get(key) {
      const name = typeof key === 'number' ? key : keyOf(key)
      const row = name === undefined ? undefined : find(name)
      return row && shared(row)
    },
    edit(key) {
      const name = typeof key === 'number' ? key : keyOf(key)
      const row = name === undefined ? undefined : find(name)
      if (name === undefined || !row) throw keyError(key)
      const own = changes.get(name) ?? deepCopy(row)
      changes.set(name, own)
      // As with `shared`.
      return own as T
    },
    put: (key, row) => void changes.set(key, row),
    entries,
    *values() {
      for (const [, row] of entries()) yield row
    },
  }
}
