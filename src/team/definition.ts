import { type SchemaInput, toDataSchema } from '../agents/schema.ts'
import type { Json } from '../protocol/types.ts'

/** A configuration as plain data: schemas as their JSON Schema, functions left out. */
export function toPlain(config: unknown): Json {
  return JSON.parse(JSON.stringify(config, (_key, value: unknown) => plainSchema(value)))
}

/** Schemas of libraries are objects of their own, which may contain themselves, or functions. */
function plainSchema(value: unknown): unknown {
  const isObject = typeof value === 'object' || typeof value === 'function'
  if (!isObject || value === null || !('~standard' in value)) return value
  try {
    return toDataSchema(value as SchemaInput, { at: '' }).jsonSchema // told by the same sign there
  } catch {
    return {} // its library gives none: what stands beside it says what it is
  }
}
