import { doors, type Exchange } from './doors.ts'
import type { Genome } from './genome.ts'
import type { Found } from './hunt.ts'

type Changes = Readonly<Record<string, Genome>>

const keys: Genome = { $keys: 1, n: 80_000, as: 'k', and: {} }

const objects: Genome = { $list: {}, n: 200_000 }

const parts = 'body.params.message.parts'

const schema = 'body.response_format.json_schema.schema'

/** Inputs that once held the loop too long, or come near to it. They are tried at every run. */
export const corpus: readonly Found['input'][] = [
  // Every member was checked by itself.
  input('MCP', { 'body.params._meta': keys }),
  input('MCP start', {
    'body.params.capabilities.experimental': { $keys: {}, n: 60_000, as: 'k', and: {} },
  }),
  // The canonical form of a card was written twice before its signature was looked at.
  input('a card from a stranger', {
    'card.capabilities.extensions': { $list: { uri: 'https://e.example/' }, n: 20_000 },
  }),
  input('a check of a stranger', { 'card.skills.0.tags': { $list: 't', n: 160_000 } }),
  // A large message was read, measured, answered, stored and sent to a webhook in one tick.
  input('1.0 message', { [parts]: [{ data: objects }] }),
  input('1.0 message', { [parts]: [{ data: keys }] }),
  input('guards on data', { [parts]: [{ data: keys }] }),
  input('expressions', { [parts]: [{ data: objects }] }),
  // Members that answer at once made one tick of a thousand items.
  input('expressions', {
    [parts]: [
      { text: 'e' },
      {
        data: { items: { $list: { name: 'a§', n: 1 }, n: 999 }, text: { $text: 'x', n: 800_000 } },
      },
    ],
  }),
  input('1.0 message', { [parts]: { $list: { text: { $text: 'a', n: 8_000 } }, n: 200 } }),
  input('OpenAI schema', { [schema]: { anyOf: { $list: { const: 1 }, n: 4_000 } } }),
  input('OpenAI schema', {
    [schema]: { allOf: { $list: { $ref: '#/$defs/a' }, n: 3_000 }, $defs: { a: {} } },
  }),
  input('events of a stranger', {
    reply: { $cat: ['data: {}\n\n', { $text: '\r', n: 1_000_000 }] },
  }),
  // The parser of events looked for each end of a line in all that followed it.
  input('events of a stranger', {
    reply: {
      $cat: ['data: {}\n\n', { $text: { $cat: [{ $text: '\n', n: 60_000 }, '\r'] }, n: 16 }],
    },
  }),
  input('raw words of a model', {
    reply: { $cat: ['data: {}\n\n', { $text: '\r', n: 1_000_000 }] },
  }),
  // A model that calls a tool ten thousand times in one answer: each piece looked for its call among all of them.
  input('words of a model', {
    'reply.1.choices.0.delta.tool_calls': {
      $list: [{ index: 0, id: 'c', function: { name: 'look', arguments: '{"a":1}' } }],
      n: 11_000,
    },
  }),
  input('pages that are pipelined', { pipelined: 400 }),
]

/** The first input of a door with other things in places of it. */
function input(door: string, changes: Changes): Found['input'] {
  const exchange = Object.entries(changes).reduce<unknown>(
    (before, [path, genome]) => put(before, path.split('.'), genome),
    doors[door],
  )
  return { door, exchange: exchange as Exchange } // only places within its fields were changed
}

function put(value: unknown, [key, ...rest]: readonly string[], genome: Genome): unknown {
  if (key === undefined) return genome
  if (Array.isArray(value))
    return value.map((item, i) => (i === Number(key) ? put(item, rest, genome) : item))
  return { ...Object(value), [key]: put(Object(value)[key], rest, genome) }
}
