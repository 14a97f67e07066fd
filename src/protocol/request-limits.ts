import type { FieldViolation } from './errors.ts'
import { addFault, isPlainObject, prefix } from './schema/check.ts'

/** How large the shape of a request may be. */
export interface RequestLimits {
  /** How deep its free JSON may nest. */
  readonly maxDepth: number
  /** Parts of its message. */
  readonly maxParts: number
  /** Keys in its metadata, in all, nested ones too. */
  readonly maxMetadataKeys: number
}

/** The limits where nobody set others. */
export const defaultRequestLimits: RequestLimits = {
  maxDepth: 64,
  maxParts: 1_000,
  maxMetadataKeys: 1_000,
}

/** Notes what of a request is too large, each with its place. It looks at everything once and copies nothing. */
export function checkShape(
  request: unknown,
  limits: RequestLimits,
  faults: FieldViolation[],
): void {
  if (!isPlainObject(request)) return
  const { message, metadata } = request
  if (message === undefined && metadata === undefined) return
  const shape = new Shape(limits, faults)
  if (isPlainObject(message)) shape.message(message)
  if (metadata !== undefined) shape.metadata(metadata, 'metadata')
}

class Shape {
  readonly #limits: RequestLimits
  readonly #faults: FieldViolation[]
  #keysLeft: number

  constructor(limits: RequestLimits, faults: FieldViolation[]) {
    this.#limits = limits
    this.#faults = faults
    this.#keysLeft = limits.maxMetadataKeys
  }

  message({ parts, metadata }: Readonly<Record<string, unknown>>): void {
    const { maxParts } = this.#limits
    if (metadata !== undefined) this.metadata(metadata, 'message.metadata')
    if (!Array.isArray(parts)) return
    if (parts.length > maxParts)
      this.#fault('message.parts', `must have at most ${maxParts} elements`)
    else for (let i = 0; i < parts.length; i++) this.#part(parts[i], i)
  }

  metadata(value: unknown, field: string): void {
    this.#mustBeShallow(value, field)
    if (this.#keysLeft < 0) return
    this.#keysLeft -= countKeys(value, this.#keysLeft)
    if (this.#keysLeft < 0)
      this.#fault(
        field,
        `brings the request's metadata above ${this.#limits.maxMetadataKeys} keys, nested ones included`,
      )
  }

  #part(part: unknown, index: number): void {
    if (!isPlainObject(part)) return
    const { data, metadata } = part
    if (data !== undefined) this.#mustBeShallow(data, `message.parts[${index}].data`)
    if (metadata !== undefined) this.metadata(metadata, `message.parts[${index}].metadata`)
  }

  #mustBeShallow(value: unknown, field: string): void {
    const { maxDepth } = this.#limits
    if (!nestsWithin(value, maxDepth))
      this.#fault(field, `must not nest deeper than ${maxDepth} levels`)
  }

  #fault(field: string, description: string): void {
    const start = this.#faults.length
    addFault(this.#faults, description)
    prefix(this.#faults, start, field)
  }
}

/** How many keys a value has, nested ones too; it stops to count above `enough`. */
function countKeys(value: unknown, enough: number): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && count <= enough; i++)
      count += countKeys(value[i], enough - count)
    return count
  }
  const members = value as Readonly<Record<string, unknown>> // an object, neither null nor array
  for (const key in members) {
    count += 1 + countKeys(members[key], enough - count)
    if (count > enough) break
  }
  return count
}

function nestsWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels <= 0) return false
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!nestsWithin(value[i], levels - 1)) return false
    return true
  }
  const members = value as Readonly<Record<string, unknown>> // an object, neither null nor array
  for (const key in members) if (!nestsWithin(members[key], levels - 1)) return false
  return true
}
