import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool, type ToolContext } from '../../src/agents/tools.ts'
import { createTurn } from '../fixtures/turn.ts'

const turn = createTurn('hi')
const context: ToolContext = { turn, signal: turn.signal, key: 'k' }

describe('a tool with a schema', () => {
  test('gets its arguments as the schema reads them, and its key', async () => {
    const seen: unknown[] = []
    const tool = defineTool({
      name: 'book',
      description: 'Books a table',
      input: z.object({ seats: z.number().default(2), day: z.string().transform((d) => d.trim()) }),
      execute(args, { key }) {
        seen.push(args, key)
        return `${args.day.length + args.seats}`
      },
    })
    expect(tool.parameters).toMatchObject({
      type: 'object',
      properties: { seats: { type: 'number' }, day: { type: 'string' } },
      required: ['day'],
    })
    expect(await tool.execute({ day: ' Monday ' }, context)).toBe('8')
    expect(seen).toEqual([{ seats: 2, day: 'Monday' }, 'k'])
  })

  test('does not run with arguments that do not fit, and says what is wrong with them', async () => {
    let runs = 0
    const tool = defineTool({
      name: 'book',
      description: 'Books a table',
      input: { type: 'object', properties: { seats: { type: 'integer' } }, required: ['seats'] },
      execute: () => ++runs,
    })
    await expect(tool.execute({ seats: 1.5 }, context)).rejects.toThrow('arguments.seats')
    await expect(tool.execute({}, context)).rejects.toThrow(/arguments.*seats/)
    expect(runs).toBe(0)
    expect(await tool.execute({ seats: 2 }, context)).toBe(1)
  })

  test('gives its result as the schema of the result reads it, and fails where it does not fit', async () => {
    const tool = defineTool({
      name: 'count',
      description: 'Counts',
      input: z.object({ text: z.string() }),
      output: z.object({ letters: z.number().max(5) }),
      execute: ({ text }) => ({ letters: text.length, secret: 'x' }),
    })
    expect(await tool.execute({ text: 'four' }, context)).toEqual({ letters: 4 })
    await expect(tool.execute({ text: 'too long' }, context)).rejects.toThrow(
      'The tool failed: result.letters: ',
    )
  })

  test('says where its schema has no JSON Schema, and takes one beside it', async () => {
    const input = v.object({ city: v.string() })
    const book = { name: 'book', description: 'Books', input, execute: () => 'ok' }
    expect(() => defineTool(book)).toThrow(
      'input of the tool "book": valibot gives no JSON Schema; write its JSON Schema beside it as jsonSchema',
    )
    const jsonSchema = { type: 'object', properties: { city: { type: 'string' } } }
    const tool = defineTool({ ...book, jsonSchema })
    expect(tool.parameters).toBe(jsonSchema)
    await expect(tool.execute({ city: 3 }, context)).rejects.toThrow('arguments.city: ')
  })

  test('has a key of its own for each call where an agent of one’s own gives none', async () => {
    const keys = new Set<string>()
    const tool = defineTool({
      ...{ name: 'a', description: 'A', input: { type: 'object' } },
      execute: (_, { key }) => keys.add(key).size,
    })
    const bare = { turn, signal: turn.signal }
    expect([await tool.execute({}, bare), await tool.execute({}, bare)]).toEqual([1, 2])
  })
})

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Definitions of tools, each with what the compiler says of it. */
const definitions: Readonly<Record<string, readonly [code: string, says?: string]>> = {
  'an argument that there is not': [
    `{ ...book, execute: ({ seat }) => seat }`,
    `Property 'seat' does not exist on type '{ seats: number; day?: string | undefined; }'.`,
  ],
  'an argument of another type': [
    `{ ...book, execute: ({ seats }) => seats.trim() }`,
    `Property 'trim' does not exist on type 'number'.`,
  ],
  'an argument that may be missing': [
    `{ ...book, execute: ({ day }) => day.trim() }`,
    `'day' is possibly 'undefined'.`,
  ],
  'an argument of a rule for approval': [
    `{ ...book, approval: ({ seats }) => seats.trim() === '', execute: () => 1 }`,
    `Property 'trim' does not exist on type 'number'.`,
  ],
  'a result of another type': [
    `{ ...book, output: z.object({ ok: z.boolean() }), execute: () => ({ ok: 'yes' }) }`,
    `Type 'string' is not assignable to type 'boolean'.`,
  ],
  'a result that is no JSON': [
    `{ ...book, execute: () => new Map() }`,
    `Type 'Map<any, any>' is not assignable to type 'Promise<ToolOutput> | ToolOutput'.`,
  ],
  'what fits': [
    `{ ...book, output: z.object({ ok: z.boolean() }), approval: ({ seats }) => seats > 8, execute: async ({ seats, day = '' }, { key, turn }) => ({ ok: key + day + turn.taskId === String(seats.toFixed()) }) }`,
  ],
  'a JSON Schema, of which nothing is known': [
    `{ name: 'a', description: 'A', input: { type: 'object' }, execute: (args) => args }`,
  ],
  'a tool as it always was': [
    `{ name: 'a', description: 'A', parameters: { type: 'object' }, execute: (args, { turn }) => [args.city ?? turn.taskId] }`,
  ],
}

const head = `import { z } from 'zod'
import { defineTool } from 'corral/agents'
const book = { name: 'book', description: 'Books', input: z.object({ seats: z.number(), day: z.string().optional() }) }`

describe('the compiler says of a tool', () => {
  let directory = ''
  const said = new Map<string, string>()
  const names = Object.keys(definitions)

  beforeAll(async () => {
    directory = await mkdtemp(join(root, 'node_modules/.corral-types-'))
    const lines = Object.values(definitions).map(([code]) => `defineTool(${code})`)
    await writeFile(join(directory, 'tools.mts'), [head, ...lines].join('\n'))
    const config = { extends: join(root, 'tsconfig.json'), files: ['tools.mts'], include: [] }
    await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(config))
    for (const { line, text } of await compile(directory))
      said.set(names[line - head.split('\n').length - 1] ?? `line ${line}`, text)
  })
  afterAll(() => rm(directory, { recursive: true }))

  test.each(Object.entries(definitions))('%s', (name, [, says]) => {
    const text = said.get(name)
    if (says === undefined) expect(text).toBeUndefined()
    else expect(text).toContain(says)
  })

  test('nothing more', () => {
    expect([...said.keys()].filter((name) => !names.includes(name))).toEqual([])
  })
})

/** What the compiler says, by the line of the file; what explains a message belongs to it. */
function compile(project: string): Promise<readonly { line: number; text: string }[]> {
  return new Promise((resolve) => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    execFile(process.execPath, [tsc, '-p', project, '--pretty', 'false'], (_failed, stdout) => {
      const found = [
        ...stdout.matchAll(/^\S*tools\.mts\((\d+),\d+\): error TS\d+: (.*(?:\n .*)*)/gm),
      ]
      resolve(found.map(([, line, text = '']) => ({ line: Number(line), text })))
    })
  })
}

test('a tool may give what an interface describes', async () => {
  interface Weather {
    readonly degrees: number
    readonly wind?: Wind
  }
  interface Wind {
    readonly from: string
  }
  const weather: Weather = { degrees: 7, wind: { from: 'west' } }
  const about = { name: 'weather', description: 'Tells the weather' }
  const typed = defineTool({ ...about, input: z.object({}), execute: () => weather })
  const plain = defineTool({ ...about, parameters: {}, execute: async () => weather })
  for (const tool of [typed, plain]) expect(await tool.execute({}, context)).toEqual(weather)
  defineTool({ ...about, parameters: {}, execute: () => [weather] })
  // @ts-expect-error a date is no JSON
  defineTool({ ...about, parameters: {}, execute: () => new Date() })
  // @ts-expect-error a model reads nothing of undefined
  defineTool({ ...about, parameters: {}, execute: () => undefined })
})
