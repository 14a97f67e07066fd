import { z } from 'zod'
import type { GuardAction, Guards } from '../../agents/guards/guard.ts'
import { described, type KeyFacts } from './values.ts'

const count = { type: ['integer', 'string'], minimum: 0 } as const

const length = table(
  {
    use: use('length', 'Looks at how long the text is, data as JSON among it.'),
    max: { description: 'The most characters.', examples: [8000], ...count },
    min: { description: 'The fewest characters.', examples: [1], ...count },
    action: action(
      'block',
      'What is done with text of another length: `block`, or `replace`, which cuts what is too long.',
    ),
  },
  ['use'],
)

/** A key of a guard in the words of JSON Schema. */
type RuleKey = KeyFacts & { readonly [keyword: string]: unknown }

function table(properties: Readonly<Record<string, RuleKey>>, required: readonly string[]): object {
  return { type: 'object', properties, required, additionalProperties: false }
}

function use(name: string, description: string): RuleKey {
  return { description, examples: [name], const: name }
}

function action(usual: GuardAction, description: string): RuleKey {
  const other = usual === 'block' ? 'replace' : 'block'
  return {
    description,
    default: usual,
    examples: [other],
    type: 'string',
    enum: ['block', 'replace'],
  }
}

const jsonSchema = table(
  {
    use: use('json-schema', 'Blocks what does not fit a schema: the data, else the text as JSON.'),
    schema: {
      description: 'The JSON Schema as a table, or the file that holds it, relative to this one.',
      examples: [{ type: 'object', required: ['order'] }, './schemas/review.json'],
      type: ['object', 'string'],
    },
  },
  ['use', 'schema'],
)

const text = { type: 'string', minLength: 1 } as const

const denied = table(
  {
    use: use('pattern', 'Refuses text in which a regular expression has a match.'),
    deny: {
      description:
        'What must not be there. `(?i)` ignores case; looking ahead and back is refused.',
      examples: ['(?i)guarantee'],
      ...text,
    },
    action: action(
      'block',
      'What is done with a match: `block`, or `replace`, which puts `[removed]` in its place.',
    ),
  },
  ['use', 'deny'],
)

const required = table(
  {
    use: use('pattern', 'Refuses text in which a regular expression has no match.'),
    require: {
      description: 'What must be there.',
      examples: ['(?i)order number'],
      ...text,
    },
  },
  ['use', 'require'],
)

const found = table(
  {
    use: {
      description:
        'Finds `secrets`, which are keys, tokens and passwords by their forms, or `email` addresses. The name may stand without a table.',
      examples: ['email'],
      enum: ['secrets', 'email'],
    },
    action: action(
      'replace',
      'What is done with what is found: `replace` takes it out, `block` refuses the whole.',
    ),
  },
  ['use'],
)

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
    { type: 'string', enum: ['secrets', 'email'] },
    ...[length, jsonSchema, denied, required, found, member, module],
  ],
})

/** `[agents.guards]`, `[teams.guards]` and `guards` of a step: what looks at messages and answers. */
export const guardsSchema: z.ZodType<Guards> = z
  .strictObject({
    input: described(z.array(rule).optional(), {
      description:
        'Look at every message first, in order, 20 at most. A message that one blocks makes the task REJECTED.',
      examples: [[{ use: 'length', max: 8000 }]],
    }),
    output: described(z.array(rule).optional(), {
      description:
        'Look at everything said before the caller hears it, in order, 20 at most. An answer that one blocks makes the task FAILED.',
      examples: [['secrets', { use: 'pattern', deny: '(?i)guarantee' }]],
    }),
  })
  .transform((guards) => guards as Guards) // read where an agent or team is planned
