import { z } from 'zod'
import { builtIns } from '../../agents/guards/built-in.ts'
import type { Guards } from '../../agents/guards/guard.ts'
import { type Rows, row } from '../../shared/rows.ts'
import { type KeyFacts, tableOf } from './values.ts'

/** A key of a guard in the words of JSON Schema. */
type RuleKey = KeyFacts & { readonly [keyword: string]: unknown }

const rows = Object.entries(builtIns)

/** The tables of the built-in guards; one that several guards have in common names all of them. */
const builtInTables = [...new Set(rows.flatMap(([, row]) => row.tables))].map((one) => {
  const names = rows.filter(([, row]) => row.tables.includes(one)).map(([name]) => name)
  const name = names.at(-1) ?? ''
  const only = names.length > 1 ? { enum: names } : { const: name }
  const use: RuleKey = { description: one.about, examples: [name], ...only }
  return table({ use, ...one.needs, ...one.may }, ['use', ...Object.keys(one.needs ?? {})])
})

function table(properties: Readonly<Record<string, RuleKey>>, required: readonly string[]): object {
  return { type: 'object', properties, required, additionalProperties: false }
}

const text = { type: 'string', minLength: 1 } as const

const member = table(
  {
    member: {
      description:
        'Who is asked for the verdict: a member of the team, or for guards of an agent another agent of this file.',
      examples: ['judge'],
      ...text,
    },
  },
  ['member'],
)

const module = table(
  {
    module: {
      description: 'A file, relative to this one, whose default export is the guard.',
      examples: ['./guards/tone.mjs'],
      ...text,
    },
  },
  ['module'],
)

/** What an editor may offer; what stands there is checked by the rules that hold in code too. */
const rule = z.unknown().meta({
  id: 'guard',
  anyOf: [
    { type: 'string', enum: rows.filter(([, row]) => row.byName).map(([name]) => name) },
    ...[...builtInTables, member, module],
  ],
})

const guardRows: Rows<Guards> = {
  input: row.tables(
    { examples: [[{ use: 'length', max: 8000 }]] },
    'Look at every message first, in order, 20 at most. A message that one blocks makes the task REJECTED.',
  ),
  output: row.tables(
    { examples: [['secrets', { use: 'pattern', deny: '(?i)guarantee' }]] },
    'Look at everything said before the caller hears it, in order, 20 at most. An answer that one blocks makes the task FAILED.',
  ),
}

/** `[agents.guards]`, `[teams.guards]` and `guards` of a step: what looks at messages and answers. */
export const guardsSchema: z.ZodType<Guards> = tableOf(guardRows, {
  input: z.array(rule),
  output: z.array(rule),
})
