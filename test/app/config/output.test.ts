import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/app/config/load.ts'
import { createRoster, type Roster } from '../../../src/app/roster.ts'
import { watchConfig } from '../../../src/app/watch.ts'
import { openModelServer } from '../../../src/testing/index.ts'
import { serveSdkAgent } from '../../client/sdk-agent.ts'
import { createTurn, foldEvents, runTurn } from '../../fixtures/turn.ts'

const env = { OPENAI_API_KEY: 'sk-1' }
let directory = ''
let rosters: Roster[] = []

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-output-'))
  rosters = []
})

afterEach(async () => {
  for (const roster of rosters) await roster.close()
  await rm(directory, { recursive: true })
})

const schema = {
  type: 'object',
  properties: { score: { type: 'number', maximum: 1 } },
  required: ['score'],
}
const inline =
  'output_schema = { type = "object", properties = { score = { type = "number", maximum = 1 } }, required = ["score"] }'
const data = [{ data: { score: 1 }, mediaType: 'application/json' }]

async function load(lines: string, endpoint = './agent.js', protocol = 'module'): Promise<Roster> {
  const path = join(directory, 'team.toml')
  const head = `[[agents]]\nid = "a"\nname = "A"\nendpoint = "${endpoint}"\nprotocol = "${protocol}"\n`
  await writeFile(path, `${head}${lines}\n`)
  const config = await loadConfig(path, env)
  const roster = await createRoster(config, { directory, environment: env })
  rosters.push(roster)
  return roster
}

async function answerOf(roster: Roster, text = 'judge'): Promise<unknown> {
  const [agent] = roster.agents
  if (!agent) throw new Error('an agent was expected')
  const turn = createTurn(text)
  return foldEvents(turn, await runTurn(agent, turn)).artifacts?.[0]?.parts
}

async function module(code: string): Promise<void> {
  await writeFile(join(directory, 'agent.js'), code)
}

describe('output_schema of an agent', () => {
  test.each([
    ['text', 'export default () => "{\\"score\\": 1}"'],
    ['data', 'export default () => ({ score: 1 })'],
    ['a message', 'export default (_, turn) => turn.reply([{ data: { score: 1 } }])'],
    ['an agent', 'export default { info: () => ({}), process: () => "{\\"score\\": 1}" }'],
  ])('checks what a module gives as %s', async (_, code) => {
    await module(code)
    expect(await answerOf(await load(inline))).toEqual(data)
  })

  test('may stand in a file beside', async () => {
    await module('export default () => ({ score: 1 })')
    await writeFile(join(directory, 'review.json'), JSON.stringify(schema))
    const roster = await load('output_schema = "./review.json"')
    expect(await answerOf(roster)).toEqual(data)
    const info = await roster.agents[0]?.info()
    expect(info?.details?.outputSchema).toEqual(schema)
  })

  test('is told to a model, which is asked again as often as is wanted', async () => {
    const service = await openModelServer(['no', 'no', 'no', 'no', '{"score": 1}'])
    const roster = await load(`${inline}\nmax_output_retries = 4`, service.url, 'openai')
    expect(await answerOf(roster)).toEqual(data)
    expect(service.requests).toHaveLength(5)
    expect(service.requests[0]?.response_format).toMatchObject({
      type: 'json_schema',
      json_schema: { schema },
    })
    await service.close()
  })

  test('is told to a model in words where its service knows no response_format', async () => {
    const service = await openModelServer(['{"score": 1}'])
    const lines = `${inline}\n[agents.model]\nresponse_format = "none"`
    expect(await answerOf(await load(lines, service.url, 'openai'))).toEqual(data)
    expect(service.requests[0]).not.toHaveProperty('response_format')
    await service.close()
  })

  test('is told to a remote agent in words, and its answer is checked', async () => {
    const { url } = await serveSdkAgent()
    const roster = await load(inline, url, 'a2a')
    // It says again the first part of what it was told.
    expect(await answerOf(roster, '{"score": 1}')).toEqual(data)
    await expect(answerOf(roster, 'hello')).rejects.toMatchObject({
      code: 'invalidAgentResponse',
      message: expect.stringContaining('after 3 tries'),
    })
  })
})

describe('a fault of output_schema is told with line and column', () => {
  const at = (column: string) => new RegExp(`team\\.toml:6:${column}: `)

  test.each<[string, string, RegExp]>([
    ['a file that is not there', 'output_schema = "./none.json"', /none\.json .*there is none/],
    ['a file that is no JSON', 'output_schema = "./bad.json"', /bad\.json .*no JSON/],
    ['a file that is no object', 'output_schema = "./list.json"', /list\.json .*no JSON object/],
    ['a file that is no schema', 'output_schema = "./wrong.json"', /properties\.a\.type/],
    ['tries without a schema', 'max_output_retries = 1', /without output_schema/],
    ['tries that are too many', `max_output_retries = 11\n${inline}`, /from 0 to 10/],
    ['something else', 'output_schema = 3', /output_schema/],
  ])('%s', async (_, lines, words) => {
    await module('export default () => ({ score: 1 })')
    await writeFile(join(directory, 'bad.json'), '{ "type": ')
    await writeFile(join(directory, 'list.json'), '[]')
    await writeFile(join(directory, 'wrong.json'), '{"properties": {"a": {"type": "objekt"}}}')
    const fault = await load(lines).catch((error: unknown) => String(error))
    expect(fault).toMatch(at('1'))
    expect(fault).toMatch(words)
    expect(fault).not.toContain(`${directory}/none`)
  })

  test.each<[string, string, string, RegExp]>([
    ['a word of a table', 'output_schema = { type = "objekt" }', '19', /output_schema: .*type/],
    [
      'a character of a pattern',
      'output_schema = { properties = { a = { pattern = "^a(?=b)" } } }',
      '53',
      /properties\.a\.pattern cannot be checked: looking ahead/,
    ],
  ])('%s', async (_, lines, column, words) => {
    const fault = await load(lines).catch((error: unknown) => String(error))
    expect(fault).toMatch(at(column))
    expect(fault).toMatch(words)
  })

  test('a task that is not waited for', async () => {
    const lines = `${inline}\nmetadata = { task_handling = "return" }`
    const fault = await load(lines, 'http://127.0.0.1:1', 'a2a').catch(String)
    expect(fault).toMatch(at('1'))
    expect(fault).toContain('not waited for')
  })
})

test('a changed schema file makes the agents anew', async () => {
  await module('export default () => ({ score: 1 })')
  const file = join(directory, 'review.json')
  await writeFile(file, JSON.stringify(schema))
  await load('output_schema = "./review.json"')
  const path = join(directory, 'team.toml')
  const made: Roster[] = []
  const stop = watchConfig(path, await loadConfig(path, env), {
    env,
    deps: { directory },
    onRoster: (roster) => void made.push(roster),
    onError: () => {},
  })
  try {
    await writeFile(file, JSON.stringify({ ...schema, title: 'Review' }))
    await expect.poll(() => made.length).toBeGreaterThan(0)
    expect(made.at(-1)?.agents[0]?.outputSchema?.jsonSchema.title).toBe('Review')
  } finally {
    stop()
  }
})
