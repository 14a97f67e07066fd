import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import type { JsonObject } from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'
import type { Unplaced } from './problems.ts'
import { filledText } from './values.ts'

/** `output_schema`: a JSON Schema as a table, or the name of its file, in whose place the schema stands by now. */
export const outputSchemaField: z.ZodType<JsonObject> = z
  .union(
    [filledText, z.record(z.string(), z.unknown())],
    'must be a table that is a JSON Schema, or the name of its file',
  )
  .transform((schema): JsonObject => (typeof schema === 'string' ? {} : (schema as JsonObject))) // made of TOML or JSON

/** A file with the schemas that it names by their files put in, which files these are, and what is wrong with them. */
interface WithSchemas {
  readonly value: unknown
  readonly files: readonly string[]
  readonly problems: readonly Unplaced[]
}

/** The keys under which a JSON Schema stands, as a table or as the name of its file; `schema` of a guard is one too. */
const schemaKeys: ReadonlySet<string> = new Set(['output_schema'])

/** Tables whose keys are their author's own. */
const foreignTables: ReadonlySet<string> = new Set(['metadata', 'extra_body', 'headers', 'env'])

/**
 * Puts the JSON Schema of a file in place of the file's name, wherever a parsed configuration has one. Names are
 * relative to the directory; without one, no file is read and a name is a fault.
 */
export function fillSchemas(value: unknown, directory: string | undefined): WithSchemas {
  const problems: Unplaced[] = []
  const files: string[] = []
  const fill = (item: unknown, path: readonly PropertyKey[]): unknown => {
    if (Array.isArray(item)) return item.map((inner, index) => fill(inner, [...path, index]))
    if (!isTable(item)) return item
    const entries = Object.entries(item).map(([key, inner]) => {
      const here = [...path, key]
      if (foreignTables.has(key)) return [key, inner]
      const isSchema = schemaKeys.has(key) || (key === 'schema' && item.use === 'json-schema')
      if (!isSchema) return [key, fill(inner, here)]
      return [key, typeof inner === 'string' ? read(inner, here) : inner]
    })
    return Object.fromEntries(entries)
  }
  const read = (name: string, path: readonly PropertyKey[]): unknown => {
    const file = directory === undefined ? undefined : resolve(directory, name)
    if (file !== undefined) files.push(file)
    const found = file === undefined ? nowhere : readSchema(file)
    if ('schema' in found) return found.schema
    problems.push({ path, message: `the schema ${name} cannot be read: ${found.fault}` })
    return {}
  }
  return { value: fill(value, []), files, problems }
}

type Found = { readonly schema: unknown } | { readonly fault: string }

const nowhere: Found = { fault: 'files are read only for a configuration that is a file itself' }

/** More than any schema that a model could be told. */
const maxBytes = 1_000_000

function readSchema(file: string): Found {
  let text: string
  try {
    if (statSync(file).size > maxBytes) return { fault: `it has more than ${maxBytes} bytes` }
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return { fault: code === 'ENOENT' ? 'there is none' : `the system says ${code}` }
  }
  try {
    const schema: unknown = JSON.parse(text)
    return isFields(schema) ? { schema } : { fault: 'it holds no JSON object' }
  } catch {
    return { fault: 'it holds no JSON' }
  }
}

/** Dates are objects too, but not tables. */
function isTable(value: unknown): value is Record<string, unknown> {
  return isFields(value) && !(value instanceof Date)
}
