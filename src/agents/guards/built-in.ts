import type { Fields } from '../../shared/json.ts'
import { nearest } from '../../shared/nearest.ts'
import { type SchemaInput, toDataSchema, UncheckableSchema } from '../schema.ts'
import { findEmails } from './email.ts'
import type { BuiltInGuard, GuardContent, GuardVerdict } from './guard.ts'
import { lengthGuard } from './length.ts'
import { patternGuard } from './pattern.ts'
import type { ReadyGuard } from './ready.ts'
import { type Find, replaceSpans, ScanSteps } from './scan.ts'
import { findSecrets } from './secrets.ts'
import { type RefuseSetting, readAction } from './settings.ts'
import type { Cleaner } from './texts.ts'

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
      const cleaner = { ...finder(findSecrets, '[secret removed]'), readsNames: true }
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
      const cleaner = finder(findEmails, '[email removed]')
      const reason = 'there is an email address in it'
      return { kind: 'cleaner', name: 'email', cleaner, action, reason }
    },
  },
}

/** The names of the guards of the house. */
const guardNames: readonly string[] = Object.keys(builtIns)

/** Makes a guard of the house ready. */
export function makeBuiltIn(name: string, settings: Fields, refuse: RefuseSetting): ReadyGuard {
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

function finder(find: Find, by: string): Cleaner {
  const clean = (text: string): string => replaceSpans(text, find(text, new ScanSteps(text)), by)
  return { clean, readsNotes: true }
}

function schemaGuard({ schema }: Fields, refuse: RefuseSetting): ReadyGuard {
  if (schema === undefined) return refuse('schema', 'is missing')
  const read = toReader(schema, refuse)
  return {
    kind: 'form',
    name: 'json-schema',
    async judge(content): Promise<GuardVerdict> {
      const value = content.data ?? parse(content)
      if (value === undefined) return { verdict: 'block', reason: 'it is no JSON' }
      const { fault } = await read(value)
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

function parse({ text }: GuardContent): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
