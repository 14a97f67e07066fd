import type { PausableWork } from '../async.ts'
import { type Fields, isFields } from '../json.ts'
import { readUrl } from '../text.ts'

/** A schema: true takes everything, false nothing. */
export type Schema = boolean | Fields

/** Why a schema cannot be used, and where in it. */
export class SchemaFault extends Error {
  override readonly name = 'SchemaFault'
  /** The place within the schema, such as `properties.age.pattern`; empty for the whole. */
  readonly path: string
  /** The character at which it begins, where a text stands there in which something is wrong. */
  readonly offset: number | undefined

  constructor(path: string, message: string, offset?: number) {
    super(message)
    this.path = path
    this.offset = offset
  }

  /** The place by its keys. Where a key has a dot in it they lead no further than there. */
  get keys(): readonly (string | number)[] {
    if (this.path === '') return []
    return this.path
      .split(/\.|(?=\[\d+\])/)
      .map((key) => (/^\[\d+\]$/.test(key) ? Number(key.slice(1, -1)) : key))
  }
}

/** How many steps a check may take; one is about as much work as looking up a member of an object. */
const maxSteps = 1_000_000

/** How many steps are taken between two pauses: a fraction of a millisecond. */
const pauseEvery = 5_000

/** References may lead in a circle that no value ends. */
const maxDepth = 256

/** The work of one check. */
export class CheckRun {
  #left = maxSteps
  #untilPause = pauseEvery
  #depth = 0

  /** Counts work. @throws SchemaFault when there was too much of it. */
  spend(steps: number): void {
    this.#left -= steps
    this.#untilPause -= steps
    if (this.#left < 0) throw new SchemaFault('', 'takes too long to check')
  }

  /** Whether it is time to pause; the caller then yields. */
  get isDue(): boolean {
    if (this.#untilPause > 0) return false
    this.#untilPause = pauseEvery
    return true
  }

  /** Begins to look into a schema. @throws SchemaFault where schemas lead to one another without an end. */
  enter(): void {
    this.spend(1)
    if (++this.#depth > maxDepth) throw new SchemaFault('', 'refers to itself without an end')
  }

  leave(): void {
    this.#depth--
  }
}

/** Where in a value a check stands: a chain, since its text is needed only for the error that is reported. */
export class Site {
  readonly run: CheckRun
  readonly #outer: Site | undefined
  /** The name of a member, the index of an item; the name of the value at the root. */
  readonly #step: string | number

  constructor(run: CheckRun, step: string | number, outer?: Site) {
    this.run = run
    this.#step = step
    this.#outer = outer
  }

  /** The place of a member or an item. */
  below(step: string | number): Site {
    return new Site(this.run, step, this)
  }

  /** The place as text, such as `answer.items[2]`. */
  get path(): string {
    if (!this.#outer) return String(this.#step)
    const step = typeof this.#step === 'number' ? `[${this.#step}]` : `.${this.#step}`
    return `${this.#outer.path}${step}`
  }
}

/** A value that does not fit, and its place. Most misfits are never reported, so the text is built on demand. */
export interface Misfit {
  readonly site: Site
  /** What is wrong, to follow the path: ` must be at least 3`. */
  words(): string
}

/** A misfit in words that name its place. */
export function misfitText({ site, words }: Misfit): string {
  return `${site.path}${words()}`
}

/** As much of a pattern as an error shows. */
export function clipPattern(text: string): string {
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}

/** A keyword of a schema, compiled. One that looks into other schemas can pause; the rest are done at once. */
export type KeywordCheck =
  | { readonly plain: (value: unknown, site: Site) => Misfit | undefined }
  | { readonly nested: (value: unknown, site: Site) => PausableWork<Misfit | undefined> }

/** A schema, compiled. */
export class SchemaNode {
  readonly #checks: KeywordCheck[] = []
  /** Whether it can be checked at once: no keyword of it looks into other schemas. */
  isPlain = true

  add(check: KeywordCheck): void {
    this.#checks.push(check)
    if ('nested' in check) this.isPlain = false
  }

  /** What of a value does not fit, of a schema that is plain. */
  plain(value: unknown, site: Site): Misfit | undefined {
    site.run.spend(1)
    for (const check of this.#checks) {
      const misfit = 'plain' in check ? check.plain(value, site) : undefined
      if (misfit) return misfit
    }
    return undefined
  }

  /** What of a value does not fit. */
  *nested(value: unknown, site: Site): PausableWork<Misfit | undefined> {
    const { run } = site
    run.enter()
    let misfit: Misfit | undefined
    for (const check of this.#checks) {
      misfit = 'plain' in check ? check.plain(value, site) : yield* check.nested(value, site)
      if (misfit) break
    }
    if (run.isDue) yield
    run.leave()
    return misfit
  }
}

/** Whether a value has the outer form of a schema. */
export function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || isFields(value)
}

/** The schema that a reference within the root names; undefined where there is none, or the reference leads out. */
export function refTarget(root: Schema, ref: string): Schema | undefined {
  if (ref !== '#' && !ref.startsWith('#/')) return undefined
  let target: unknown = root
  for (const step of ref.split('/').slice(1)) {
    const name = toName(step)
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name))
      return undefined
    target = Reflect.get(target, name)
  }
  return isSchema(target) ? target : undefined
}

/** A step of a JSON Pointer in a fragment (RFC 6901 §6). */
function toName(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return step
  }
}

/** How many values a value consists of. */
export function sizeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  let size = 1
  for (const inner of Object.values(value)) size += sizeOf(inner)
  return size
}

/** The formats of texts that can be checked, by their names in JSON Schema. */
export const formats: ReadonlyMap<string, (text: string) => boolean> = new Map(
  Object.entries({
    date: isDate,
    time: isTime,
    'date-time': isDateTime,
    duration: (text: string) =>
      /^P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/.test(
        text,
      ),
    email: (text: string) => /^[^\s@]+@[^\s@]+$/.test(text),
    hostname: isHostname,
    ipv4: isIpv4,
    ipv6: (text: string) =>
      /^[\da-f:.]+$/i.test(text) && readUrl(`http://[${text}]/`) !== undefined,
    uri: (text: string) => /^[a-z][a-z\d+.-]*:\S*$/i.test(text) && readUrl(text) !== undefined,
    uuid: (text: string) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text),
  }),
)

/** Longer than a text of these formats is. */
export const longestFormat = 2_048

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (year === undefined) return false
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}

function isTime(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i.test(
    text,
  )
}

function isDateTime(text: string): boolean {
  const separator = text.charAt(10)
  return (
    (separator === 'T' || separator === 't') && isDate(text.slice(0, 10)) && isTime(text.slice(11))
  )
}

function isHostname(text: string): boolean {
  const labels = text.split('.')
  return (
    text.length <= 253 &&
    labels.every((label) => /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i.test(label))
  )
}

function isIpv4(text: string): boolean {
  const numbers = text.split('.')
  return (
    numbers.length === 4 &&
    numbers.every((one) => /^(?:0|[1-9]\d{0,2})$/.test(one) && Number(one) < 256)
  )
}
