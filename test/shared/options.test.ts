import { expect, test } from 'vitest'
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

/** Data that goes in and out of functions, which the compiler alone checks so far. An entrance that is new checks itself. */
const unchecked: ReadonlySet<string> = new Set(
  `
corral.checkCard corral.chooseInterface corral.renderCard corral.createFold corral.createJkuResolver
corral.requireSignature corral.signCard corral.verifyCard corral.answerParts corral.canTransition
corral.completedTaskWithText corral.textOf server.hasScope server.createTokenSigner
server.verifyBody client.apiKey client.authFromCard client.authorizationCode client.authorize
client.clientCredentials client.deviceCode client.oauth client.startAuthorization
client.createCardCache client.listenForRedirect client.createHttp agents.ConfigConversionError
agents.toA2AAgentConfig agents.toOpenAIAgentConfig agents.validateA2AAgentConfig
agents.validateOpenAIAgentConfig agents.createAgentFromConfig agents.toId agents.ContentBlocked
agents.GuardFault agents.createMcpToolSource agents.loadModuleAgent agents.withOutputSchema
agents.toDataSchema agents.asTool store.copyStore store.openPostgresStore team.parseConfig
team.ConfigError team.createRoster team.createTeamFromConfig team.rosterWarnings team.serveConfig
team.serveConfigOverMcp team.storePlace team.toServerOptions team.watchConfig team.InvalidTeamError
team.AgentManager team.replyParts team.Team eval.checkOutgoing eval.formatToolAsText
eval.formatTools eval.fromA2A eval.parseReply eval.parseToolCall eval.toA2A eval.createGoldenAgent
eval.createAgentUnderTest eval.createA2AAgent eval.openEndpoint eval.statusCodeOf eval.checkDomain
eval.runCalls eval.defineDomain eval.defineMcpDomain eval.findDomain eval.findDomainOf
eval.loadDomain eval.createCallCheck eval.checkMetrics eval.createCollector eval.estimateTokens
eval.latencySpread eval.summarise eval.toDict eval.toMetricsArray eval.toMetricsDocument
eval.toMetricsLine eval.headline eval.outcomeOf eval.toHtml eval.toJUnit eval.toMarkdown
eval.checkGate eval.compareResults eval.passRate eval.rescore eval.spreadOf eval.passHatK
eval.requireOwn eval.doNothingBaseline eval.loadResults eval.saveResults eval.converse
eval.agreeingJudge eval.createJudge eval.scoreConversation eval.evaluationPath eval.readEvaluation
eval.createA2AUser eval.createHumanUser eval.createLlmUser testing.createInstantClock
testing.scripted testing.openModelServer compat.completedTaskWithText compat.AgentCard
compat.AgentProvider compat.Provider compat.AgentSkill compat.Skill compat.DataPart compat.FilePart
compat.Message compat.Task compat.TaskStatus compat.fromAgent
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

test.each<[string, (unknown: object) => unknown, string]>([
  ['createServer', (more) => server.createServer({ agents: [agent], ...more }), 'concurrency'],
  ['TeamServer', (more) => new team.TeamServer(members, 0, more), 'concurrency'],
  ['A2AServer.configure', (more) => server.A2AServer.echo().configure(more), 'concurrency'],
  ['limits', (more) => server.createServer({ agents: [agent], limits: more }), 'requests'],
  ['createA2AServer', (more) => compat.createA2AServer(more), 'skills'],
  ['A2AClient', (more) => new client.A2AClient({ serverUrl: 'http://a', ...more }), 'maxPolls'],
  ['A2AAgent', (more) => new agents.A2AAgent({ endpoint: 'http://a', ...more }), 'maxRetries'],
  ['defineAgent', (more) => agents.defineAgent({ name: 'a', ...more }, () => ''), 'abilities'],
  [
    'createA2AConfig',
    (more) => evaluation.createA2AConfig({ endpoint: 'http://a', ...more }),
    'timeout',
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

test("S001-2, S001-4: the seed's spellings are understood where it has them", () => {
  const given = { endpoint: 'http://a', auth_token: 't', verify_ssl: false }
  const config = evaluation.createA2AConfig(given as { endpoint: string })
  expect([config.authToken, config.verifySsl]).toEqual(['t', false])
})
