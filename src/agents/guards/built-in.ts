import { dataOf, readableText } from '../../protocol/task.ts'
import type { Part } from '../../protocol/types.ts'
import { runInSlices } from '../../shared/async.ts'
import { type Fields, isFields } from '../../shared/json.ts'
import { PatternFault } from '../../shared/pattern/parse.ts'
import { compilePattern, type Pattern } from '../../shared/pattern/pattern.ts'
import { nearest } from '../../shared/text.ts'
import type { Agent } from '../agent.ts'
import { type SchemaInput, toDataSchema, UncheckableSchema } from '../schema.ts'
import type { BuiltInGuard, GuardFunction, GuardSide, Guards, GuardVerdict } from './guard.ts'
import {
  type Cleaner,
  GuardFault,
  pauseEvery,
  type ReadyGuard,
  type ReadyGuards,
  type RefuseSetting,
  readAction,
} from './ready.ts'
import { EmailScan, replaceSpans, SecretScan, type TextScan } from './secrets.ts'

/** Where guards stand. */
interface GuardsPlace {
  /** The agents that can be asked for a verdict; none where this is absent. */
  readonly members?: readonly string[] | 'any'
  /** Whether files of modules are yet to be loaded, so that what they hold is not known. */
  readonly modulesLater?: boolean
}

/** None on either side. */
const noGuards: ReadyGuards = { input: [], output: [] }

const sides: readonly string[] = ['input', 'output'] satisfies readonly GuardSide[]

/**
 * Makes guards ready for use, of a program or of a file.
 * @throws GuardFault that names the first one that cannot be, and what was probably meant.
 */
export function readGuards(guards: unknown, place: GuardsPlace = {}): ReadyGuards {
  if (guards === undefined) return noGuards
  if (!isFields(guards)) throw new GuardFault([], 'must have input, output or both')
  for (const key of Object.keys(guards))
    if (!sides.includes(key)) {
      const meant = nearest(key, sides)
      const hint = meant ? `did you mean ${meant}?` : 'known: input, output'
      throw new GuardFault([key], 'is no side of an agent', { hint })
    }
  return {
    input: readList(guards.input, 'input', place),
    output: readList(guards.output, 'output', place),
  }
}

/** More than needed, and few enough to run for every message. */
const maxGuards = 20

function readList(list: unknown, side: GuardSide, place: GuardsPlace): readonly ReadyGuard[] {
  if (list === undefined) return []
  if (!Array.isArray(list)) throw new GuardFault([side], 'must be a list of guards')
  if (list.length > maxGuards) throw new GuardFault([side], `has more than ${maxGuards} guards`)
  return list.map((rule, index) =>
    readRule(rule, place, (key, reason, { path = [], ...detail } = {}) => {
      // A guard that is a name alone has no keys to point at.
      const inner = key !== undefined && isFields(rule) ? [key, ...path] : []
      throw new GuardFault([side, index, ...inner], reason, detail)
    }),
  )
}

const kinds = ['use', 'member', 'module'] as const

const notLoaded = { verdict: 'block', reason: 'its module is not loaded' } as const

function readRule(rule: unknown, place: GuardsPlace, refuse: RefuseSetting): ReadyGuard {
  if (typeof rule === 'string') return makeBuiltIn(rule, {}, refuse)
  if (typeof rule === 'function')
    return { kind: 'own', name: rule.name || 'function', judge: rule as GuardFunction } // its verdicts are checked
  const what = 'a name, a function, or a table with use, member or module'
  if (!isFields(rule)) return refuse(undefined, `must be ${what}`)
  const said = kinds.filter((kind) => rule[kind] !== undefined)
  const [kind] = said
  if (kind === undefined || said.length > 1) return refuse(undefined, `must be ${what}`)
  const name = rule[kind]
  if (typeof name !== 'string' || name === '') return refuse(kind, 'must be a text')
  if (kind === 'use') return makeBuiltIn(name, rule, refuse)
  for (const key of Object.keys(rule))
    if (key !== kind && !(kind === 'module' && key === 'load'))
      refuse(key, `does not go with ${kind}`)
  if (kind === 'member') return readMember(name, place, refuse)
  // Callers are told the name of a guard, and not where its file lies.
  const own = { kind: 'own', name: fileName(name) } as const
  if (typeof rule.load === 'function') return { ...own, judge: rule.load as GuardFunction } // its verdicts are checked
  if (place.modulesLater) return { ...own, judge: () => notLoaded }
  return refuse('module', 'is for configuration files: import it and give its function')
}

function readMember(member: string, { members }: GuardsPlace, refuse: RefuseSetting): ReadyGuard {
  if (!members)
    return refuse(
      'member',
      'can be asked in a team or a file only: put this guard on the team or step',
    )
  if (members !== 'any' && !members.includes(member)) {
    const meant = nearest(member, members)
    const hint = meant ? `did you mean ${meant}?` : `known: ${members.join(', ')}`
    refuse('member', `names nobody who could be asked: ${member}`, { hint })
  }
  return { kind: 'member', name: member, member }
}

/** The name of a file without its place and its ending. */
function fileName(path: string): string {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
  const end = name.lastIndexOf('.')
  return end > 0 ? name.slice(0, end) : name
}

/** The names of guards, for people who look at their agent; undefined where there are none. */
export function namesOf({ input, output }: ReadyGuards): Agent['guardNames'] {
  if (input.length + output.length === 0) return undefined
  const name = (guard: { readonly name: string }): string => guard.name
  return {
    ...(input.length > 0 && { input: input.map(name) }),
    ...(output.length > 0 && { output: output.map(name) }),
  }
}

/** The same of guards as they are written. @throws GuardFault */
export function writtenNames(guards: Guards | undefined): Agent['guardNames'] {
  return namesOf(readGuards(guards))
}

/** The guards of the house by their names: what may be set, and what becomes of it. */
interface BuiltIn {
  readonly keys: readonly string[]
  make(settings: Fields, refuse: RefuseSetting): ReadyGuard
}

const builtIns: Readonly<Record<BuiltInGuard['use'], BuiltIn>> = {
  length: { keys: ['max', 'min', 'action'], make: lengthGuard },
  'json-schema': { keys: ['schema'], make: schemaGuard },
  pattern: { keys: ['deny', 'require', 'action'], make: patternGuard },
  secrets: {
    keys: ['action'],
    make: (settings, refuse) => {
      const action = readAction(settings, 'replace', refuse)
      const by = '[secret removed]'
      const cleaner: Cleaner = { ...finder(SecretScan, by), cleanNamed: namedCleaner(by) }
      return {
        kind: 'cleaner',
        name: 'secrets',
        cleaner,
        action,
        reason: 'there is a secret in it',
      }
    },
  },
  email: {
    keys: ['action'],
    make: (settings, refuse) => {
      const action = readAction(settings, 'replace', refuse)
      const cleaner = finder(EmailScan, '[email removed]')
      const reason = 'there is an email address in it'
      return { kind: 'cleaner', name: 'email', cleaner, action, reason }
    },
  },
}

/** The names of the guards of the house. */
const guardNames: readonly string[] = Object.keys(builtIns)

/** Makes a guard of the house ready. */
function makeBuiltIn(name: string, settings: Fields, refuse: RefuseSetting): ReadyGuard {
  const known: Readonly<Record<string, BuiltIn>> = builtIns
  const builtIn = Object.hasOwn(known, name) ? known[name] : undefined
  if (!builtIn) {
    const meant = nearest(name, guardNames)
    const hint = meant ? `did you mean ${meant}?` : `known: ${guardNames.join(', ')}`
    return refuse('use', `names no guard: ${name.slice(0, 40)}`, { hint })
  }
  for (const key of Object.keys(settings)) {
    if (key === 'use' || builtIn.keys.includes(key)) continue
    const meant = nearest(key, builtIn.keys)
    const hint = meant ? `did you mean ${meant}?` : `known: ${builtIn.keys.join(', ')}`
    refuse(key, `is no setting of the guard ${name}`, { hint })
  }
  return builtIn.make(settings, refuse)
}

/**
 * To count characters needs no slices: 1 MB of text is counted in 3 to 8 ms and cut in 4 to 14; to write or parse data takes as
 * long as it took when the message arrived.
 *
 * Content of so many characters, its data as JSON among them; files do not count.
 */
function lengthGuard(settings: Fields, refuse: RefuseSetting): ReadyGuard {
  const { max, min } = settings
  const action = readAction(settings, 'block', refuse)
  const most = readCount(max, 'max', refuse) ?? Number.POSITIVE_INFINITY
  const least = readCount(min, 'min', refuse) ?? 0
  if (max === undefined && min === undefined) refuse(undefined, 'needs max or min')
  if (least > most) refuse('min', 'must not be more than max')
  if (action === 'replace' && max === undefined)
    refuse('action', 'replace needs max: what is too short cannot be cut')
  const limits = { most, least, cuts: action === 'replace' }
  return { kind: 'form', name: 'length', judge: (parts) => judgeLength(parts, limits) }
}

function readCount(value: unknown, key: string, refuse: RefuseSetting): number | undefined {
  if (value === undefined) return undefined
  const count = Number(value)
  // Files may write numbers as texts.
  const isNumber = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
  if (!isNumber || !Number.isSafeInteger(count) || count < 0)
    return refuse(key, 'must be a whole number of characters')
  return count
}

function judgeLength(
  parts: readonly Part[],
  { most, least, cuts }: { readonly most: number; readonly least: number; readonly cuts: boolean },
): GuardVerdict {
  let [words, rest] = [0, 0]
  for (const part of parts)
    if ('text' in part) words += lengthOf(part.text)
    else if ('data' in part) rest += lengthOf(JSON.stringify(part.data))
  const length = words + rest
  if (length < least)
    return {
      verdict: 'block',
      reason: `it has ${length} characters; at least ${least} are asked for`,
    }
  if (length <= most) return { verdict: 'allow' }
  if (!cuts || rest > most)
    return { verdict: 'block', reason: `it has ${length} characters; at most ${most} are allowed` }
  return {
    verdict: 'replace',
    parts: cut(parts, most - rest),
    reason: `cut from ${length} to ${most} characters`,
  }
}

/** Characters as people count them, nearly: a letter beyond the first plane is one. */
function lengthOf(text: string): number {
  let length = text.length
  for (let at = 0; at < text.length - 1; at++) if (isPair(text, at)) length--
  return length
}

function isPair(text: string, at: number): boolean {
  return (text.codePointAt(at) ?? 0) > 0xffff
}

function cut(parts: readonly Part[], most: number): readonly Part[] {
  let left = most
  return parts.map((part) => {
    if (!('text' in part)) return part
    let end = 0
    for (; end < part.text.length && left > 0; left--) end += isPair(part.text, end) ? 2 : 1
    return end === part.text.length ? part : { ...part, text: part.text.slice(0, end) }
  })
}

function finder(Scan: new (text: string) => TextScan, by: string): Cleaner {
  return {
    clean(text) {
      const scan = new Scan(text)
      scan.look(0, text.length)
      return replaceSpans(text, scan.found, by)
    },
    *cleaning(text) {
      const scan = new Scan(text)
      for (let from = 0; from < text.length; from += pauseEvery) {
        if (from > 0) yield
        scan.look(from, Math.min(from + pauseEvery, text.length))
      }
      return replaceSpans(text, scan.found, by)
    },
    readsNotes: true,
  }
}

/** Looks at the values of members of data by their names, where a value is clean by itself. */
function namedCleaner(by: string): NonNullable<Cleaner['cleanNamed']> {
  return (name, value) => {
    const pair = `${name}=${value}`
    const scan = new SecretScan(pair)
    // What begins in the value was found without its name.
    scan.look(0, name.length + 1)
    const left = replaceSpans(pair, scan.found, by)
    return left.startsWith(`${name}=`) ? left.slice(name.length + 1) : value
  }
}

function schemaGuard({ schema }: Fields, refuse: RefuseSetting): ReadyGuard {
  if (schema === undefined) return refuse('schema', 'is missing')
  const read = toReader(schema, refuse)
  return {
    kind: 'form',
    name: 'json-schema',
    async judge(parts, principal): Promise<GuardVerdict> {
      const value = dataOf(parts) ?? parse(readableText(parts))
      if (value === undefined) return { verdict: 'block', reason: 'it is no JSON' }
      const { fault } = await read(value, principal)
      return fault === undefined ? { verdict: 'allow' } : { verdict: 'block', reason: fault }
    },
  }
}

function toReader(
  schema: unknown,
  refuse: RefuseSetting,
): ReturnType<typeof toDataSchema<SchemaInput>>['read'] {
  try {
    const place = { at: 'the schema', value: 'it' }
    return toDataSchema(schema as SchemaInput, place).read // what is no schema is refused there
  } catch (error) {
    const place = error instanceof UncheckableSchema ? error : {}
    const words = error instanceof Error ? error.message : error
    return refuse('schema', `cannot be used: ${words}`, place)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A text that must not stand in content, or must. */
function patternGuard(settings: Fields, refuse: RefuseSetting): ReadyGuard {
  const { deny, require } = settings
  const action = readAction(settings, 'block', refuse)
  if ((deny === undefined) === (require === undefined))
    return refuse(undefined, 'needs deny or require, and not both')
  if (deny !== undefined) {
    const pattern = compile(deny, 'deny', refuse)
    const by = '[removed]'
    const cleaner: Cleaner = {
      clean: (text) => pattern.replace(text, by),
      cleaning: (text) => pattern.replacing(text, by),
    }
    const reason = 'there is something in it that is not allowed'
    return { kind: 'cleaner', name: 'pattern', cleaner, action, reason }
  }
  if (action === 'replace')
    refuse('action', 'replace needs deny: what is missing cannot be replaced')
  const pattern = compile(require, 'require', refuse)
  return {
    kind: 'form',
    name: 'pattern',
    async judge(parts, principal): Promise<GuardVerdict> {
      const isFound = await runInSlices(pattern.testing(readableText(parts)), { principal })
      return isFound
        ? { verdict: 'allow' }
        : { verdict: 'block', reason: 'something is missing in it' }
    },
  }
}

function compile(source: unknown, key: string, refuse: RefuseSetting): Pattern {
  if (typeof source !== 'string' || source === '') return refuse(key, 'must be a pattern')
  try {
    return compilePattern(source)
  } catch (error) {
    if (!(error instanceof PatternFault)) throw error
    const { message, position: offset } = error
    return refuse(key, `cannot be used: ${message} (at character ${offset + 1})`, { offset })
  }
}
