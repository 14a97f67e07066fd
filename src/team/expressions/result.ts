import type { Json } from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'
import type { ExpressionSite } from './fault.ts'

/** The largest result, in characters of JSON. */
const maxSize = 1_000_000

/** A result as JSON: whole numbers are numbers. What is no JSON, or too large, is a fault. */
export function toResultJson(value: unknown, site: ExpressionSite): Json {
  const measure = new Measure(site)
  measure.add(value)
  // Measured, it is made of JSON and whole numbers.
  return (measure.hasWhole ? withNumbers(value) : (value ?? null)) as Json
}

/** A result as the words of a template. */
export function toTemplateText(value: Json): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Goes through a value that may hold the same part many times, and stops where it is too large. */
class Measure {
  hasWhole = false
  #left = maxSize
  readonly #site: ExpressionSite

  constructor(site: ExpressionSite) {
    this.#site = site
  }

  add(value: unknown): void {
    this.#count(typeof value === 'string' ? value.length + 2 : 4)
    if (typeof value === 'bigint') this.#addWhole(value)
    else if (typeof value === 'number' && !Number.isFinite(value))
      this.#site.fail('the result is not a number that JSON has')
    else if (Array.isArray(value)) for (const item of value) this.add(item)
    else if (isFields(value))
      for (const name of Object.keys(value)) {
        this.#count(name.length + 4)
        this.add(value[name])
      }
  }

  #addWhole(value: bigint): void {
    this.hasWhole = true
    if (!Number.isSafeInteger(Number(value)))
      this.#site.fail(`JSON does not keep ${value} exactly: write string(…) for its digits`)
  }

  #count(size: number): void {
    this.#left -= size
    if (this.#left < 0)
      this.#site.fail(`the result is larger than ${maxSize} characters of JSON`, true)
  }
}

function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(withNumbers)
  if (!isFields(value)) return value ?? null
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withNumbers(one)]))
}
