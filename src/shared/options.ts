import { nearest } from './text.ts'

/*
 * Checks what programs give to the entrances of the library: an option that nothing reads, or a value of another type, is
 * an error that names it. The compiler checks neither programs in plain JavaScript nor objects that are spread.
 */

/** What an argument or option may be. */
type Kind = keyof typeof kinds

/** One kind, several with `|` between, or `any`. */
export type Kinds = Kind | `${Kind}|${Kind}` | `${Kind}|${Kind}|${Kind}` | 'any'

/** What each option may be, with `!` where it must be given; an option without a row does not compile. */
export type OptionTable<T> = {
  readonly [K in keyof T]-?: object extends Pick<T, K> ? Kinds : `${Kinds}!`
}

const kinds = {
  array: 'an array',
  boolean: 'true or false',
  function: 'a function',
  number: 'a number',
  object: 'an object',
  string: 'a string',
} as const

/**
 * Checks the options of an entrance.
 *
 * @param at The entrance, with the path within its options: `createServer`, `createServer: auth`.
 * @throws TypeError that names the option that is not known, missing or of another type.
 */
export function checkOptions(
  at: string,
  options: unknown,
  table: Readonly<Record<string, string>>,
): void {
  checkArgument(at, 'the options', options, 'object')
  const given = Object(options) as Readonly<Record<string, unknown>> // which it is: checked above
  const known = Object.keys(table)
  for (const name of Object.keys(given))
    if (!known.includes(name)) throw new TypeError(`${at}: ${unknownName(name, known)}`)
  for (const name of known) {
    const [wanted = '', isNeeded] = (table[name] ?? '').split(/(!)/)
    if (given[name] !== undefined || isNeeded) checkArgument(at, name, given[name], wanted)
  }
}

/** Says that an option is not known, and which one may be meant. */
export function unknownName(name: string, known: readonly string[]): string {
  const meant = nearest(name, known)
  const hint = meant === undefined ? `known: ${known.join(', ')}` : `did you mean ${meant}?`
  return `unknown option ${name}; ${hint}`
}

/**
 * Checks an argument of an entrance by its kinds, as an `OptionTable` writes them.
 * @throws TypeError that names it. Its value is not shown, since it may be a secret.
 */
export function checkArgument(at: string, name: string, value: unknown, wanted: string): void {
  const found = kindOf(value)
  const allowed = wanted.split('|')
  if (allowed.includes(found) || (wanted === 'any' && value !== undefined)) return
  const words = allowed.map((kind) => wordsOf(kind)).join(' or ')
  throw new TypeError(`${at}: ${name} must be ${words}, not ${wordsOf(found)}`)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function wordsOf(kind: string): string {
  return kind === 'any'
    ? 'given'
    : (Object.entries(kinds).find(([name]) => name === kind)?.[1] ?? kind)
}
