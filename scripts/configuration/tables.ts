/** The tables of a configuration file, read from its JSON Schema. */

/** Part of a JSON Schema, as far as it is read here. */
export interface KeySchema {
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly deprecated?: boolean
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly string[]
  readonly const?: string
  readonly pattern?: string
  readonly anyOf?: readonly KeySchema[]
  readonly oneOf?: readonly KeySchema[]
  readonly items?: KeySchema
  readonly properties?: Readonly<Record<string, KeySchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: KeySchema | boolean
  readonly definitions?: Readonly<Record<string, KeySchema>>
}

/** One way in which a table can be written: its keys in order. */
export type Form = Required<Pick<KeySchema, 'properties' | 'required'>>

/** All tables with what each may hold, by their paths: `server.limits`, `prices.*` for names of one's own, `/` for the file. */
export function tablesOf(root: KeySchema): ReadonlyMap<string, readonly Form[]> {
  const tables = new Map<string, Form[]>()
  const seen = new Set<string>()
  const visit = (schema: KeySchema, path: string): void => {
    if (schema.$ref !== undefined && seen.has(schema.$ref)) return
    if (schema.$ref !== undefined) seen.add(schema.$ref)
    const { properties, required = [], items, additionalProperties, ...rest } = follow(root, schema)
    if (properties) {
      const place = path || '/'
      tables.set(place, [...(tables.get(place) ?? []), { properties, required }])
      for (const [key, one] of Object.entries(properties)) visit(one, path ? `${path}.${key}` : key)
    } else for (const form of rest.anyOf ?? rest.oneOf ?? []) visit(form, path)
    if (items) visit(items, path)
    if (typeof additionalProperties === 'object') visit(additionalProperties, `${path}.*`)
  }
  visit(root, '')
  return tables
}

/** The schema that a reference leads to, or the schema itself. */
export function follow(root: KeySchema, schema: KeySchema): KeySchema {
  const name = schema.$ref?.split('/').at(-1)
  return (name !== undefined && root.definitions?.[name]) || schema
}
