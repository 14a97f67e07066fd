import { largeBytes, lightBytes } from './list.ts'
import type { TaskParts } from './store.ts'

/** The columns of a task's documents, as much of them as is asked for, of the table that has this name in a query. */
export function documentColumns(
  table: string,
  { artifacts = true, light = false }: TaskParts = {},
): string {
  const snapshot = `${table}.snapshot`
  // The length is known without reading the text itself.
  if (light)
    return `CASE WHEN octet_length(${snapshot}) > ${lightBytes} THEN '' ELSE ${snapshot} END AS snapshot`
  return artifacts ? `${snapshot}, ${table}.artifacts` : snapshot
}

/** The same for a list, where the documents of large tasks are left out: they are null. */
export function listedDocumentColumns(table: string, parts: TaskParts): string {
  const { artifacts = true, light } = parts
  if (light) return documentColumns(table, parts)
  const size = `octet_length(${table}.snapshot) + coalesce(octet_length(${table}.artifacts), 0)`
  const small = (column: string): string =>
    `CASE WHEN ${size} > ${largeBytes} THEN NULL ELSE ${table}.${column} END AS ${column}`
  return artifacts ? `${small('snapshot')}, ${small('artifacts')}` : small('snapshot')
}
