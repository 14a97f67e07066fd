import { dataOf, readableText } from '../../protocol/task.ts'
import type { Json, Part } from '../../protocol/types.ts'
import { runInSlices } from '../../shared/async.ts'
import { type Fields, isFields } from '../../shared/json.ts'
import { PatternFault } from '../../shared/pattern/parse.ts'
import { compilePattern, type Pattern } from '../../shared/pattern/pattern.ts'
import { nearest } from '../../shared/text.ts'
import type { Agent } from '../agent.ts'
import { type SchemaInput, toDataSchema, UncheckableSchema } from '../schema.ts'
import type { BuiltInGuard, GuardAction, GuardFunction, GuardSide, GuardVerdict } from './guard.ts'
import {
  allowed,
  blocked,
  type Cleaner,
  GuardFault,
  pauseEvery,
  type ReadyGuard,
  type ReadyGuards,
  type RefuseSetting,
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
    if (!sides.includes(key))
      throw new GuardFault([key], 'is no side of an agent', { hint: hintOf(key, sides) })
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
  if (place.modulesLater) return { ...own, judge: () => blocked('its module is not loaded') }
  return refuse('module', 'is for configuration files: import it and give its function')
}

function readMember(member: string, { members }: GuardsPlace, refuse: RefuseSetting): ReadyGuard {
  if (!members)
    return refuse(
      'member',
      'can be asked in a team or a file only: put this guard on the team or step',
    )
  if (members !== 'any' && !members.includes(member))
    refuse('member', `names nobody who could be asked: ${member}`, {
      hint: hintOf(member, members),
    })
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

/** A setting of a guard: what editors and docs/configuration.md say of it, in the words of JSON Schema. */
interface Setting {
  readonly description: string
  readonly examples: readonly [Json, ...Json[]]
  readonly [keyword: string]: Json
}

type Settings = Readonly<Record<string, Setting>>

/** A built-in guard. What checks its settings, offers them in editors and documents them is derived from this row. */
interface BuiltIn {
  /** The tables that a file may write for it: what each does, and the settings that it must and may have. */
  readonly tables: readonly {
    readonly about: string
    readonly needs?: Settings
    readonly may?: Settings
  }[]
  /** Whether the name may stand without a table. */
  readonly byName?: true
  /** Makes it ready for use; the action is the one that is set, else the default. */
  make(settings: Fields, refuse: RefuseSetting, action: GuardAction): ReadyGuard
}

const count = { type: ['integer', 'string'], minimum: 0 }

const filled = { type: 'string', minLength: 1 }

/** What the guards that find something have in common. */
const found: Omit<BuiltIn, 'make'> = {
  tables: [
    {
      about:
        'Finds `secrets`, which are keys, tokens and passwords by their forms, or `email` addresses. The name may stand without a table.',
      may: {
        action: action(
          'replace',
          'What is done with what is found: `replace` takes it out, `block` refuses the whole.',
        ),
      },
    },
  ],
  byName: true,
}

/** The built-in guards by their names. A further guard is a further row, and its options in `guard.ts`. */
export const builtIns: Readonly<Record<BuiltInGuard['use'], BuiltIn>> = {
  length: {
    tables: [
      {
        about: 'Looks at how long the text is, data as JSON among it.',
        may: {
          max: { description: 'The most characters.', examples: [8000], ...count },
          min: { description: 'The fewest characters.', examples: [1], ...count },
          action: action(
            'block',
            'What is done with text of another length: `block`, or `replace`, which cuts what is too long.',
          ),
        },
      },
    ],
    make: lengthGuard,
  },
  'json-schema': {
    tables: [
      {
        about: 'Blocks what does not fit a schema: the data, else the text as JSON.',
        needs: {
          schema: {
            description:
              'The JSON Schema as a table, or the file that holds it, relative to this one.',
            examples: [{ type: 'object', required: ['order'] }, './schemas/review.json'],
            type: ['object', 'string'],
          },
        },
      },
    ],
    make: schemaGuard,
  },
  pattern: {
    tables: [
      {
        about: 'Refuses text in which a regular expression has a match.',
        needs: {
          deny: {
            description:
              'What must not be there. `(?i)` ignores case; looking ahead and back is refused.',
            examples: ['(?i)guarantee'],
            ...filled,
          },
        },
        may: {
          action: action(
            'block',
            'What is done with a match: `block`, or `replace`, which puts `[removed]` in its place.',
          ),
        },
      },
      {
        about: 'Refuses text in which a regular expression has no match.',
        needs: {
          require: {
            description: 'What must be there.',
            examples: ['(?i)order number'],
            ...filled,
          },
        },
      },
    ],
    make: patternGuard,
  },
  secrets: {
    ...found,
    make: (_settings, _refuse, action) => ({
      kind: 'cleaner',
      name: 'secrets',
      cleaner: { ...finder(SecretScan, secretRemoved), cleanNamed: cleanNamedSecret },
      action,
      reason: 'there is a secret in it',
    }),
  },
  email: {
    ...found,
    make: (_settings, _refuse, action) => ({
      kind: 'cleaner',
      name: 'email',
      cleaner: finder(EmailScan, '[email removed]'),
      action,
      reason: 'there is an email address in it',
    }),
  },
}

/** What a guard does with what it finds, as a setting. */
function action(usual: GuardAction, description: string): Setting {
  const other = usual === 'block' ? 'replace' : 'block'
  return {
    description,
    default: usual,
    examples: [other],
    type: 'string',
    enum: ['block', 'replace'],
  }
}

/** Makes a built-in guard ready for use. */
function makeBuiltIn(name: string, settings: Fields, refuse: RefuseSetting): ReadyGuard {
  const builtIn = Object.hasOwn(builtIns, name) && builtIns[name as BuiltInGuard['use']] // is one
  if (!builtIn) {
    const hint = hintOf(name, Object.keys(builtIns))
    return refuse('use', `names no guard: ${name.slice(0, 40)}`, { hint })
  }
  const { tables } = builtIn
  const known: Settings = Object.assign(
    {},
    ...tables.map(({ needs }) => needs),
    ...tables.map(({ may }) => may),
  )
  for (const key of Object.keys(settings))
    if (key !== 'use' && !Object.hasOwn(known, key))
      refuse(key, `is no setting of the guard ${name}`, { hint: hintOf(key, Object.keys(known)) })
  const { action = known.action?.default } = settings
  if (action !== undefined && action !== 'block' && action !== 'replace')
    return refuse('action', 'must be block or replace')
  return builtIn.make(settings, refuse, action ?? 'block')
}

/** What was probably meant by a name, or what there is. */
function hintOf(name: string, known: readonly string[]): string {
  const meant = nearest(name, known)
  return meant ? `did you mean ${meant}?` : `known: ${known.join(', ')}`
}

/**
 * To count characters needs no slices: 1 MB of text is counted in 3 to 8 ms and cut in 4 to 14; to write or parse data takes as
 * long as it took when the message arrived.
 *
 * Content of so many characters, its data as JSON among them; files do not count.
 */
function lengthGuard({ max, min }: Fields, refuse: RefuseSetting, action: GuardAction): ReadyGuard {
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
  if (length < least) return blocked(`it has ${length} characters; at least ${least} are asked for`)
  if (length <= most) return allowed
  if (!cuts || rest > most)
    return blocked(`it has ${length} characters; at most ${most} are allowed`)
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

const secretRemoved = '[secret removed]'

/** Cleans the value of a member of data by its name, where the value is clean by itself. */
function cleanNamedSecret(name: string, value: string): string {
  const pair = `${name}=${value}`
  const scan = new SecretScan(pair)
  // What begins in the value was found without its name.
  scan.look(0, name.length + 1)
  const left = replaceSpans(pair, scan.found, secretRemoved)
  return left.startsWith(`${name}=`) ? left.slice(name.length + 1) : value
}

function schemaGuard({ schema }: Fields, refuse: RefuseSetting): ReadyGuard {
  if (schema === undefined) return refuse('schema', 'is missing')
  const read = toReader(schema, refuse)
  return {
    kind: 'form',
    name: 'json-schema',
    async judge(parts, principal): Promise<GuardVerdict> {
      const value = dataOf(parts) ?? parse(readableText(parts))
      if (value === undefined) return blocked('it is no JSON')
      const { fault } = await read(value, principal)
      return fault === undefined ? allowed : blocked(fault)
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
function patternGuard(
  { deny, require }: Fields,
  refuse: RefuseSetting,
  action: GuardAction,
): ReadyGuard {
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
      return isFound ? allowed : blocked('something is missing in it')
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
