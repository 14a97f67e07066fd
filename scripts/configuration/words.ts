import type { KeySchema } from './tables.ts'

/** What kind of value a key takes, in TOML's words. */
export function typeOf(schema: KeySchema): string {
  const { type, items, format, properties } = schema
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  const either = schema.anyOf ?? (properties ? undefined : schema.oneOf)
  if (schema.enum) return schema.enum.filter(isOwnSpelling).map(quoted).join(', ')
  if (schema.const !== undefined) return quoted(schema.const)
  if (either) return [...new Set(either.filter(isNoNumber).map(typeOf))].join(' or ')
  if (typeof type === 'object') return toEither(type)
  if (type === 'array') return items ? toArray(typeOf(items)) : 'array'
  if (type === 'object' || type === undefined) return 'table'
  return format === 'uri' ? 'URL' : type
}

/** Files may write numbers as strings, which nobody needs to be told with every number. */
function isNoNumber({ pattern, type }: KeySchema): boolean {
  return pattern === undefined || type !== 'string'
}

function toEither(types: readonly string[]): string {
  if (types.includes('boolean')) return 'any value'
  if (types.includes('integer')) return 'integer'
  return types.map((type) => (type === 'object' ? 'table' : type)).join(' or ')
}

function isOwnSpelling(name: string): boolean {
  return name === name.toLowerCase()
}

function quoted(text: string): string {
  return `\`"${text}"\``
}

function toArray(one: string): string {
  return /^[a-z]+$/.test(one) ? `array of ${one}s` : 'array'
}

/** A value as it is written in TOML. */
export function toTomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toTomlValue).join(', ')}]`
  if (typeof value === 'number') return toTomlNumber(value)
  return JSON.stringify(value)
}

/** Digits of large numbers in groups, as TOML allows. */
function toTomlNumber(value: number): string {
  return value < 10_000 ? String(value) : value.toLocaleString('en-US').replaceAll(',', '_')
}
