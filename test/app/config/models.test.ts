import { describe, expect, test } from 'vitest'
import { OpenAIAgent } from '../../../src/agents/openai/agent.ts'
import { parseConfig } from '../../../src/app/config/load.ts'
import { ConfigError } from '../../../src/app/config/locate.ts'
import { createRoster } from '../../../src/app/roster.ts'
import { openModelServer } from '../../../src/testing/index.ts'
import { createTurn, runTurn } from '../../fixtures/turn.ts'

const env = { OPENAI_API_KEY: 'sk-1', TOKEN: 'secret-token' }

function model(lines: string, endpoint = 'https://api.openai.com/v1'): string {
  return `[[agents]]
id = "m"
name = "Model"
endpoint = "${endpoint}"
protocol = "openai"
${lines}
`
}

function problemsOf(text: string): string[] {
  try {
    parseConfig(text, { env, path: 'team.toml' })
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
  return []
}

test('every setting of a model reaches the service, and the headers with it', async () => {
  const server = await openModelServer(['ok'])
  const text = model(
    `[agents.model]
name = "big"
system_prompt = "Be brief."
temperature = "0.5"
top_p = 0.9
max_tokens = 200000
stop = ["END", "STOP"]
seed = -3
reasoning_effort = "high"
parallel_tool_calls = false
max_history = 0
max_tool_rounds = 2
history = "window"
headers = { X-Team = "a team", "api-key" = "\${TOKEN}" }
extra_body = { user = "u1", metadata = { deep = [1, 2] } }`,
    server.url,
  )
  const tools = [{ name: 't', description: '', parameters: {}, execute: () => 'x' }]
  const roster = await createRoster(parseConfig(text, { env }), {
    directory: '.',
    environment: env,
    tools,
  })
  const agent = roster.manager.get('m')
  if (!(agent instanceof OpenAIAgent)) throw new Error('a model was expected')
  await runTurn(agent, createTurn('hi'))
  expect(server.requests[0]).toMatchObject({
    model: 'big',
    messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
    temperature: 0.5,
    top_p: 0.9,
    max_tokens: 200_000,
    stop: ['END', 'STOP'],
    seed: -3,
    reasoning_effort: 'high',
    parallel_tool_calls: false,
    user: 'u1',
    metadata: { deep: [1, 2] },
    stream: true,
  })
  expect(server.headers[0]).toMatchObject({
    'x-team': 'a team',
    'api-key': 'secret-token',
    authorization: 'Bearer sk-1',
  })
  await roster.close()
  await server.close()
})

test('whether tools are called at once is not said to a model without tools', async () => {
  const server = await openModelServer(['ok'])
  const text = model('model = { parallel_tool_calls = true }', server.url)
  const roster = await createRoster(parseConfig(text, { env }), {
    directory: '.',
    environment: env,
  })
  const agent = roster.manager.get('m')
  if (!agent) throw new Error('an agent was expected')
  await runTurn(agent, createTurn('hi'))
  expect(server.requests[0]).not.toHaveProperty('parallel_tool_calls')
  await roster.close()
  await server.close()
})

describe('what is wrong in the settings of a model is refused where it stands', () => {
  test.each([
    ['[agents.model]\ntemprature = 1', '7:1: unknown key temprature (did you mean temperature?)'],
    ['[agents.model]\nmodel = "m"', '7:1: unknown key model'],
    ['[agents.model]\ntemperature = 2.1', '7:1: Invalid field value for model.temperature: 2.1'],
    ['[agents.model]\ntop_p = 1.1', '7:1: Invalid field value for model.top_p: 1.1'],
    ['[agents.model]\nmax_tokens = 0', 'model.max_tokens: 0 (must be a whole number above 0)'],
    ['[agents.model]\nmax_tokens = 1.5', 'model.max_tokens: 1.5'],
    ['[agents.model]\nseed = 0.5', 'model.seed: 0.5'],
    ['[agents.model]\nmax_history = -1', 'model.max_history: -1 (must be a whole number from 0 to'],
    ['[agents.model]\nhistory = "summarize"', 'history'],
    ['[agents.model]\nhistory = "summarise"\nmax_history = 90', '8:1: .*from 2 to 80'],
    ['[agents.model]\nmax_tool_rounds = 101', 'from 0 to 100'],
    ['[agents.model]\nname = ""', 'agents.model.name'],
    ['[agents.model]\nstop = [""]', 'agents.model.stop'],
    [
      '[agents.model.headers]\nHost = "x"',
      '7:1: .*model.headers.Host: [redacted] (is ours to fill)',
    ],
    ['[agents.model.headers]\nX-Key = "a\\nb"', 'model.headers.X-Key: [redacted]'],
    ['[agents.model.extra_body]\ntop_p = 1', '7:1: .*model.extra_body.top_p'],
    ['[agents.model.extra_body]\nmessages = []', 'model.extra_body.messages'],
    ['[agents.model.extra_body]\nday = 2020-01-01', 'dates are no JSON'],
  ])('%s', (lines, words) => {
    const pattern = words.replaceAll(/[[\]()?]/g, '\\$&')
    expect(problemsOf(model(lines))).toEqual([expect.stringMatching(pattern)])
  })

  test.each([
    ['name = "x"', 'model = "x"', 'model.name and metadata.model'],
    ['temperature = 1', 'temperature = 1', 'model.temperature and metadata.temperature'],
    ['max_tokens = 1', 'max_tokens = 2', 'model.max_tokens and metadata.max_tokens'],
    [
      'system_prompt = "x"',
      'system_prompt = "y"',
      'model.system_prompt and metadata.system_prompt',
    ],
  ])('%s beside the same setting in metadata', (line, older, words) => {
    const lines = `[agents.metadata]\n${older}\n[agents.model]\n${line}`
    expect(problemsOf(model(lines))).toEqual([
      `team.toml:9:1: ${words} are the same setting: keep one of them`,
    ])
  })

  test('different settings may stand in both', () => {
    expect(problemsOf(model('metadata = { model = "m" }\nmodel = { temperature = 1 }'))).toEqual([])
  })

  test.each([
    ['temprature = 1', 'did you mean temperature?'],
    ['maxTokens = 1', 'did you mean max_tokens?'],
    ['api_kye = "sk-secret"', 'did you mean api_key?'],
    ['top_p = 0.5', 'did you mean top_p in [agents.model]?'],
    ['max_histroy = 3', 'did you mean max_history in [agents.model]?'],
  ])('%s in metadata', (line, hint) => {
    const [key] = line.split(' ')
    expect(problemsOf(model(`[agents.metadata]\n${line}`))).toEqual([
      `team.toml:7:1: unknown key ${key} (${hint})`,
    ])
  })

  test('other words in metadata are shown, as ever', () => {
    const lines = '[agents.metadata]\nmode = "fast"\nregion = "eu"\nversion = "2"\nowner = "me"'
    expect(problemsOf(model(lines))).toEqual([])
  })

  test('a misspelt setting of a remote agent, whose task handling would silently be another', () => {
    const lines = '[agents.metadata]\ntask_handing = "reject"'
    expect(problemsOf(model(lines).replace('"openai"', '"a2a"'))).toEqual([
      'team.toml:7:1: unknown key task_handing (did you mean task_handling?)',
    ])
  })

  test.each(['a2a', 'module'])('a model table of an agent of protocol %s', (protocol) => {
    const text = model('model = { name = "m" }').replace('"openai"', `"${protocol}"`)
    expect(problemsOf(text)).toEqual([
      expect.stringContaining('only an agent of protocol openai has one'),
    ])
  })
})

test('in code the settings have the same rules, by the names of the code', () => {
  const make = (change: object) => () =>
    new OpenAIAgent({
      id: 'm',
      name: 'M',
      endpoint: 'http://127.0.0.1:1',
      apiKey: 'k',
      model: 'm',
      timeoutSeconds: 10,
      maxRetries: 0,
      ...change,
    })
  expect(make({ maxTokens: 100_000, topP: 1 })).not.toThrow()
  expect(make({ maxTokens: 0 })).toThrow('maxTokens: 0')
  expect(make({ topP: 2 })).toThrow('topP: 2')
  expect(make({ history: 'all' })).toThrow('history: all (must be window or summarise)')
  expect(make({ headers: { 'two words': 'x' } })).toThrow('headers.two words')
})
