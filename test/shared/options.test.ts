import { expect, onTestFinished, test } from 'vitest'
import * as agents from '../../src/agents/index.ts'
import * as client from '../../src/client/index.ts'
import * as compat from '../../src/compat/index.ts'
import * as consoleEntrance from '../../src/console/index.ts'
import * as evaluation from '../../src/eval/index.ts'
import * as corral from '../../src/index.ts'
import * as server from '../../src/server/index.ts'
import * as store from '../../src/store/index.ts'
import * as team from '../../src/team/index.ts'
import * as testing from '../../src/testing/index.ts'

const entrances = {
  corral,
  server,
  client,
  agents,
  store,
  team,
  eval: evaluation,
  testing,
  compat,
  console: consoleEntrance,
}

const all = Object.entries(entrances).flatMap(([entrance, names]) =>
  Object.entries(names).flatMap(([name, value]) =>
    typeof value === 'function' ? [{ name: `${entrance}.${name}`, call: value as Callable }] : [],
  ),
)

type Callable = (...given: unknown[]) => unknown

/** What V8 says where code trips over a value of another type. */
const raw =
  /Cannot (read|destructure|use|convert)|is not (a function|iterable|a constructor)|undefined \(reading|must be of type/

const ticks = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** What a call or construction throws or rejects with. */
async function faultOf(call: Callable, ...given: unknown[]): Promise<unknown> {
  const isClass = /^class\b/.test(Function.prototype.toString.call(call))
  try {
    const result = isClass ? Reflect.construct(call, given) : call(...given)
    if (!(result instanceof Promise)) return undefined
    return await Promise.race([result.then(() => undefined), ticks()])
  } catch (thrown) {
    return thrown
  }
}

/**
 * What may stay without a check of its arguments, and why. An entrance that is new checks itself.
 *
 * - Cards, tasks, messages, parts, results and records go in and out of these as data, mostly for each message.
 * - Errors are made where something failed already: a second error would hide the first.
 * - What `parseConfig` gives, or `createServer` has checked, is handed on by these.
 * - The steps of an evaluation take what `runEvaluation` or another step has made.
 */
const unchecked: ReadonlySet<string> = new Set(
  `
corral.createFold corral.requireSignature
corral.signCard corral.verifyCard corral.answerParts corral.completedTaskWithText
corral.textOf server.verifyBody team.replyParts compat.completedTaskWithText
compat.DataPart compat.FilePart compat.Message compat.Task compat.TaskStatus

agents.ConfigConversionError agents.ContentBlocked agents.GuardFault team.ConfigError
team.InvalidTeamError eval.statusCodeOf

agents.withOutputSchema agents.toDataSchema
team.createTeamFromConfig team.serveConfigOverMcp
team.toServerOptions team.watchConfig

eval.checkOutgoing eval.formatToolAsText eval.formatTools eval.fromA2A eval.parseReply
eval.parseToolCall eval.toA2A eval.checkMetrics
eval.estimateTokens eval.summarise eval.toDict eval.toMetricsArray
eval.toMetricsDocument eval.toHtml eval.toJUnit
eval.toMarkdown eval.compareResults
eval.converse
eval.evaluationPath eval.readEvaluation
`.split(/\s+/),
)

/** No file can have this name, so that an entrance that opens one makes none. */
const text = '/dev/null/text'

test('what takes a wrong argument says so in a sentence, in every entrance that is not listed', async () => {
  const faults: string[] = []
  for (const { name, call } of all)
    for (const given of unchecked.has(name) ? [] : [undefined, null, 5, text]) {
      const fault = await faultOf(call, given)
      if (fault instanceof TypeError && raw.test(fault.message))
        faults.push(`${name}(${given}): ${fault.message}`)
    }
  expect(faults).toEqual([])
  expect([...unchecked].filter((name) => name && !all.some((one) => one.name === name))).toEqual([])
})

const agent = agents.createEchoAgent()
const members = team.defineTeam({
  id: 't',
  name: 'T',
  agents: { a: agent },
  scheduler: { type: 'supervisor', supervisorAgentId: 'a' },
})

const entry = { id: 'a', name: 'A', endpoint: 'http://localhost', protocol: 'a2a' } as const
const tool = { name: 't', description: 'A tool', execute: () => '' }
const model = { id: 'a', name: 'A', endpoint: 'http://a', model: 'm' }
const receiver = { expects: () => true, onEvent: () => {} }
const tasks = new store.InMemoryTaskStore()
const file = team.parseConfig(
  '[[agents]]\nid = "a"\nname = "A"\nendpoint = "http://a"\nprotocol = "a2a"',
)
const chat = { baseUrl: 'http://a', model: 'm' }
const domain = { name: 'd', policy: '', tasks: [], world: { command: 'c' } }
async function serving(): Promise<server.Server> {
  const made = await server.createServer({ agents: [agent], logger: false })
  onTestFinished(() => made.close())
  return made
}
const remote = (auth: object) => ({ endpoint: 'http://a', auth: Object(auth) })
const calling = (more: object) => new client.A2AClient({ serverUrl: 'http://a', ...more })

test.each<[string, (unknown: object) => unknown, string]>([
  ['createServer', (more) => server.createServer({ agents: [agent], ...more }), 'concurrency'],
  ['TeamServer', (more) => new team.TeamServer(members, 0, more), 'concurrency'],
  ['A2AServer.configure', (more) => server.A2AServer.echo().configure(more), 'concurrency'],
  ['limits', (more) => server.createServer({ agents: [agent], limits: more }), 'requests'],
  ['createA2AServer', (more) => compat.createA2AServer(more), 'skills'],
  ['A2AClient', (more) => new client.A2AClient({ serverUrl: 'http://a', ...more }), 'maxPolls'],
  ['A2AAgent', (more) => new agents.A2AAgent({ endpoint: 'http://a', ...more }), 'maxRetries'],
  ['defineAgent', (more) => agents.defineAgent({ name: 'a', ...more }, () => ''), 'abilities'],
  ['A2AAgent: auth', (more) => new agents.A2AAgent(remote({ type: 'bearer', ...more })), 'token'],
  [
    'createAgentFromConfig',
    (more) => agents.createAgentFromConfig({ ...entry, ...more }, { directory: '.' }),
    'timeoutSeconds',
  ],
  [
    'createAgentFromConfig, around it',
    (more) => agents.createAgentFromConfig(entry, { directory: '.', ...more }),
    'environment',
  ],
  ['toA2AAgentConfig', (more) => agents.toA2AAgentConfig({ ...entry, ...more }), 'timeoutSeconds'],
  [
    'toOpenAIAgentConfig',
    (more) => agents.toOpenAIAgentConfig({ ...entry, protocol: 'openai', ...more }),
    'maxRetries',
  ],
  [
    'toOpenAIAgentConfig: model',
    (more) => agents.toOpenAIAgentConfig({ ...entry, protocol: 'openai', model: Object(more) }),
    'temperature',
  ],
  ['defineTool', (more) => agents.defineTool({ ...tool, parameters: {}, ...more }), 'approval'],
  [
    'defineTool, of a schema',
    (more) => agents.defineTool({ ...tool, input: {}, ...more }),
    'output',
  ],
  ['asTool', (more) => agents.asTool(agent, Object(more)), 'description'],
  [
    'createMcpToolSource',
    (more) => agents.createMcpToolSource({ name: 'm', command: 'c', ...more }),
    'args',
  ],
  ['files', (more) => new agents.OpenAIAgent({ ...model, files: Object(more) }), 'allow'],
  ['A2AClient: retry', (more) => calling({ retry: more }), 'maxRetries'],
  ['A2AClient: timeouts', (more) => calling({ timeouts: more }), 'requestMs'],
  ['A2AClient: oauth', (more) => calling({ oauth: { clientId: 'c', ...more } }), 'tokenUrl'],
  [
    'A2AClient: credentials',
    (more) => calling({ credentials: { key: { clientId: 'c', ...more } } }),
    'clientSecret',
  ],
  ['clientCredentials', (more) => client.clientCredentials({ clientId: 'c', ...more }), 'issuer'],
  ['createCardCache', (more) => client.createCardCache(Object(more)), 'ttlMs'],
  ['createHttp', (more) => client.createHttp(Object(more)), 'verifySsl'],
  ['listenForRedirect', (more) => client.listenForRedirect(Object(more)), 'port'],
  ['JsonRpcTransport', (more) => new client.JsonRpcTransport('http://a', Object(more)), 'dialect'],
  ['RestTransport', (more) => new client.RestTransport('http://a', Object(more)), 'tenant'],
  [
    'createWebhookReceiver',
    (more) => client.createWebhookReceiver({ token: 't', ...receiver, ...more }),
    'remember',
  ],
  [
    'createServer: cors',
    (more) => server.createServer({ agents: [agent], cors: Object(more) }),
    'origins',
  ],
  [
    'createServer: timeouts',
    (more) => server.createServer({ agents: [agent], timeouts: Object(more) }),
    'blockingMs',
  ],
  [
    'createServer: pushNotifications',
    (more) => server.createServer({ agents: [agent], pushNotifications: Object(more) }),
    'secretFor',
  ],
  ['listen', async (more) => server.listen(await serving(), { port: 0, ...more }), 'maxBodyBytes'],
  ['runServer', async (more) => server.runServer(await serving(), { port: 0, ...more }), 'signals'],
  ['toFetch', async (more) => server.toFetch(await serving(), Object(more)), 'mount'],
  [
    'toNodeHandler',
    async (more) => server.toNodeHandler((await serving()).handle, Object(more)),
    'intake',
  ],
  ['createMemoryStore', (more) => store.createMemoryStore(Object(more)), 'maxTasks'],
  ['fromTaskStore', (more) => store.fromTaskStore(tasks, Object(more)), 'scope'],
  ['openSqliteStore', (more) => store.openSqliteStore(text, Object(more)), 'synchronous'],
  [
    'openPostgresStore',
    (more) => store.openPostgresStore({ url: 'postgres://a/b', ...more }),
    'leaseMs',
  ],
  ['createStoreKeeper', (more) => store.createStoreKeeper(text, Object(more)), 'schema'],
  ['AgentManager', (more) => new team.AgentManager(Object(more)), 'clock'],
  ['Team', (more) => new team.Team(members.config, members.manager, Object(more)), 'exposeMembers'],
  ['createConsole', (more) => consoleEntrance.createConsole(Object(more)), 'allow'],
  ['parseConfig', (more) => team.parseConfig('', Object(more)), 'directory'],
  ['serveConfig', (more) => team.serveConfig(file, { path: text, env: {}, ...more }), 'signals'],
  [
    'createTokenSigner',
    (more) => server.createTokenSigner({ issuer: 'http://a', keys: [], ...more }),
    'issuer',
  ],
  ['createJkuResolver', (more) => corral.createJkuResolver(Object(more)), 'fetchJson'],
  ['openModelServer', (more) => testing.openModelServer(['a'], Object(more)), 'usage'],
  ['createInstantClock', (more) => testing.createInstantClock(Object(more)), 'real'],
  ['scripted', (more) => testing.scripted(['a'], Object(more)), 'description'],
  ['createEvaluator', (more) => evaluation.createEvaluator({ archive: '.', ...more }), 'maxSteps'],
  [
    'createEvaluator: guard',
    (more) => evaluation.createEvaluator({ archive: '.', guard: Object(more) }),
    'allowLoopback',
  ],
  [
    'runEvaluation',
    (more) => evaluation.runEvaluation({ agent: { endpoint: 'http://a' }, ...more }),
    'numTrials',
  ],
  [
    'createA2AConfig',
    (more) => evaluation.createA2AConfig({ endpoint: 'http://a', ...more }),
    'timeout',
  ],
  ['createA2AAgent', (more) => evaluation.createA2AAgent(Object(more)), 'introduction'],
  ['rescore', (more) => evaluation.rescore(Object({}), Object(more)), 'prices'],
  ['createLlmUser', (more) => evaluation.createLlmUser({ ...chat, ...more }), 'apiKey'],
  ['createJudge', (more) => evaluation.createJudge(chat, Object(more)), 'prompt'],
  ['createCollector', (more) => evaluation.createCollector({ endpoint: 'a', ...more }), 'onRecord'],
  ['checkGate', (more) => evaluation.checkGate(Object({}), Object(more)), 'failUnder'],
  ['defineMcpDomain', (more) => evaluation.defineMcpDomain({ ...domain, ...more }), 'splits'],
  [
    'defineMcpDomain: world',
    (more) => evaluation.defineMcpDomain({ ...domain, world: Object(more) }),
    'command',
  ],
])(
  '%s refuses an option that it does not know, and says which may be meant',
  async (_name, call, meant) => {
    const misspelt = `${meant.slice(0, -1)}_`
    await expect(async () => call({ [misspelt]: 1 })).rejects.toThrow(
      `unknown option ${misspelt}; did you mean ${meant}?`,
    )
    await expect(async () => call({ nothingLikeIt: 1 })).rejects.toThrow(/nothingLikeIt; known: /)
  },
)

test.each<[string, () => unknown, string]>([
  ['auth without apply', () => calling({ auth: {} }), 'A2AClient: auth: apply must be a function'],
  ['half a password', () => calling({ credentials: { b: { user: 'u' } } }), 'b: password must be'],
  [
    'a judge',
    () => evaluation.createJudge({ ...chat, baseUrl: 'x' }),
    'must be an http or https URL',
  ],
  [
    'a player',
    () => evaluation.createLlmUser({ ...chat, baseUrl: '' }),
    'must be an http or https URL',
  ],
  [
    'no domain',
    () => evaluation.createGoldenAgent(Object({})),
    'tasks of the domain must be an array',
  ],
  [
    'an agent by its URL',
    () => evaluation.createA2AConfig('http://a' as never),
    'must be an object',
  ],
  [
    'a bearer without its token',
    () => new agents.A2AAgent(remote({ type: 'bearer' })),
    'auth: token must be a string',
  ],
])('%s is told in a sentence', async (_name, call, words) => {
  await expect(async () => call()).rejects.toThrow(words)
})

test('a tool of a class, and a card with members of its own, are taken as they are', () => {
  class Counter {
    readonly name = 'count'
    readonly description = 'Counts'
    readonly parameters = {}
    count = 0
    execute = () => `${++this.count}`
  }
  expect(agents.defineTool(new Counter()).name).toBe('count')
  const older = {
    protocolVersion: '0.3.0',
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [],
    security: [],
    supportsAuthenticatedExtendedCard: false,
    signatures: [],
    authentication: { type: 'none' },
    'x-team': 'search',
  }
  const flags = Object({ stateTransitionHistory: true })
  expect(compat.AgentCard({ name: 'A', ...older, capabilities: flags })).toMatchObject(older)
  expect(() => compat.AgentCard(Object({ name: 'A', skils: [] }))).toThrow('did you mean skills?')
  expect(() => compat.AgentSkill(Object({ name: 'a', tgas: [] }))).toThrow('did you mean tags?')
  expect(() => compat.AgentCapabilities(Object({ streeming: true }))).toThrow('mean streaming?')
})

test("S001-2, S001-4: the seed's spellings are understood where it has them", () => {
  const given = { endpoint: 'http://a', auth_token: 't', verify_ssl: false }
  const config = evaluation.createA2AConfig(given as { endpoint: string })
  expect([config.authToken, config.verifySsl]).toEqual(['t', false])
})
