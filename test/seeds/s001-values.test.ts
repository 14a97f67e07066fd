import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createA2AConfig,
  createAgentUnderTest,
  openEndpoint,
} from '../../src/eval/agent/under-test.ts'
import { ValidationError } from '../../src/eval/base.ts'
import { spoken } from '../../src/eval/domain/domain.ts'
import { checkMetrics, createCollector, type ProtocolMetrics } from '../../src/eval/metrics.ts'
import { type Simulation, SimulationFault } from '../../src/eval/results/simulation.ts'
import { runEvaluation } from '../../src/eval/run/evaluate.ts'
import { silent } from '../../src/shared/log.ts'
import { agentSays, servePeer, v10Card } from '../eval/serving.ts'
import { smallDomain } from '../eval/small-domain.ts'

const endpoint = 'https://agent.example.com'

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'corral-seed-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

describe('A2AConfig', () => {
  // as in JavaScript, or from JSON: nobody has checked the types
  const make = (input: unknown) => () => createA2AConfig(input as { endpoint: string })

  test('S001-1: without an endpoint there is no config', () => {
    for (const input of [{}, undefined, null, { endpoint: undefined }, { endpoint: null }])
      expect(make(input)).toThrow(new ValidationError('endpoint is required'))
    expect(make({ endpoint: '' })).toThrow(ValidationError)
  })

  test.each([
    [{ endpoint: 5 }, 'endpoint must be a string, got 5'],
    [{ endpoint, timeout: '30' }, 'timeout must be an integer, got "30"'],
    [{ endpoint, timeout: null }, 'timeout must be an integer, got null'],
    [{ endpoint, timeout: Number.POSITIVE_INFINITY }, 'timeout must be an integer'],
    [{ endpoint, verifySsl: 'no' }, 'verify_ssl must be a boolean, got "no"'],
    [{ endpoint, authToken: 5 }, 'auth_token must be a non-empty string'],
    [{ endpoint, authToken: {} }, 'auth_token must be a non-empty string'],
  ])('S001-97, S001-98: %j is a ValidationError', (input, words) => {
    expect(make(input)).toThrow(ValidationError)
    expect(make(input)).toThrow(words)
  })

  test('S001-9, S001-10: the timeout is checked before the scheme, which is written as in the seed', () => {
    const both = make({ endpoint: 'ftp://x/', timeout: 0 })
    expect(both).toThrow('timeout must be positive, got 0')
    const scheme = 'endpoint must start with http:// or https://, got'
    for (const given of ['ftp://x', 'HTTP://x', ' http://x', 'http:/x', 'x.example'])
      expect(make({ endpoint: given })).toThrow(new ValidationError(`${scheme} ${given}`))
    expect(make({ endpoint: 'http://' })).toThrow(`${scheme} http:`)
  })

  test('S001-2: a token that is null is none', () => {
    expect(make({ endpoint, authToken: null })().authToken).toBeUndefined()
  })

  test.each(['one\ntwo', 'secret\r\n', 'a\u0000b', 'sch\u00f6n', 'two words'])(
    'S001-8: the token %j, which no header can carry, is refused at once',
    (authToken) => {
      expect(make({ endpoint, authToken })).toThrow(ValidationError)
      expect(make({ endpoint, authToken })).toThrow('auth_token must be printable ASCII')
      expect(make({ endpoint, authToken })).not.toThrow(authToken)
    },
  )
})

describe('what is counted', () => {
  test('S001-39, S001-42: every send, also one that fails', async () => {
    const peer = await servePeer((_, index) =>
      index === 0 ? agentSays('Hello') : { error: { code: -32603, message: 'broken' } },
    )
    const place = openEndpoint(createA2AConfig({ endpoint: peer.url }), { log: silent })
    onTestFinished(() => place.close())
    const metrics = createCollector({ endpoint: peer.url })
    const introduction = { policy: '', tools: [] }
    const agent = createAgentUnderTest({ endpoint: place, introduction, metrics, log: silent })
    const { signal } = new AbortController()
    const first = await agent.getInitState()
    const [, second] = await agent.generateNextMessage(spoken('user', 'Hi'), first, signal)
    expect(second.requestCount).toBe(1)
    const failing = agent.generateNextMessage(spoken('user', 'Again'), second, signal)
    const fault = await failing.catch((error) => error)
    expect(fault).toBeInstanceOf(SimulationFault)
    expect(fault.state).toMatchObject({ requestCount: 2, contextId: 'ctx-abc123' })
    expect(second.requestCount).toBe(1)
  })

  test('S001-42: so says the simulation', async () => {
    const peer = await servePeer(() => ({ error: { code: -32603, message: 'broken' } }))
    const agent = { endpoint: peer.url }
    const { simulations } = await runEvaluation({ agent, domain: smallDomain(), maxRetries: 0 })
    expect(simulations[0]).toMatchObject({ termination_reason: 'agent_error', request_count: 1 })
  })
})

/** What an agent with these input modes gets, and what an evaluation makes of its answers. */
async function evaluateWith(modes: readonly string[]) {
  const call = { tool_call: { name: 'add_book', arguments: { title: 'Ulysses' } } }
  const peer = await servePeer(
    ({ params }, index) => {
      const isTaken = params.message.parts.every((part) => 'text' in part || modes.length !== 1)
      if (!isTaken) return { error: { code: -32005, message: 'ContentTypeNotSupported' } }
      return agentSays(index === 0 ? JSON.stringify(call) : 'Added, there are 2.')
    },
    { card: (url) => ({ ...v10Card(url), defaultInputModes: modes }) },
  )
  const agent = { endpoint: peer.url }
  const { simulations } = await runEvaluation({ agent, domain: smallDomain() })
  const sent = peer.requests.filter(({ rpc }) => rpc !== '').map(({ params }) => params.message)
  return { sent, simulation: simulations[0] }
}

describe('what is sent', () => {
  test('S001-28, S001-34, S001-87: text alone to an agent that takes text alone', async () => {
    for (const modes of [['text/plain'], ['text']]) {
      const { sent, simulation } = await evaluateWith(modes)
      expect(simulation).toMatchObject({ reward_info: { reward: 1 } })
      expect(sent).toHaveLength(2)
      for (const { parts } of sent) expect(parts.every((part) => 'text' in part)).toBe(true)
      expect(JSON.stringify(sent[0])).toContain('<available_tools>')
      expect(JSON.stringify(sent[1])).toContain('Tool result (id=')
    }
  })

  test.each([
    ['application/json'],
    ['Application/JSON; v=1'],
    ['application/*'],
    ['json'],
    ['*/*'],
  ])('S001-28: the same text, and data beside it, to an agent that takes %s', async (mode) => {
    const { sent, simulation } = await evaluateWith(['text/plain', mode])
    expect(simulation).toMatchObject({ reward_info: { reward: 1 } })
    expect(sent.map(({ parts }) => parts.filter((part) => 'data' in part).length)).toEqual([1, 1])
    expect(JSON.stringify(sent[1])).toContain('Tool result (id=')
  })
})

test("S001-54, S001-57: the seed's own card is read, in its snake case", async () => {
  const card = (url: string) => ({
    name: 'Peer',
    url,
    version: '1.0',
    capabilities: { push_notifications: true },
    default_input_modes: ['text/plain', 'image/png'],
    security_schemes: { bearer: { type: 'http', scheme: 'bearer' } },
    security: ['bearer'],
  })
  const peer = await servePeer(() => agentSays('Hello'), { card })
  const place = openEndpoint(createA2AConfig({ endpoint: peer.url }), { log: silent })
  onTestFinished(() => place.close())
  expect(await place.discover()).toMatchObject({
    capabilities: { pushNotifications: true },
    defaultInputModes: ['text/plain', 'image/png'],
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
    securityRequirements: [{ schemes: { bearer: {} } }],
  })
})

test('S001-47: an agent that gives two simulations one context is named in both', async () => {
  const names = new Map<string, string>()
  const peer = await servePeer(({ params }) => {
    const { messageId } = params.message
    names.set(messageId, messageId)
    return agentSays('Sorry', names.size < 3 ? 'same' : messageId)
  })
  const { simulations } = await runEvaluation({
    agent: { endpoint: peer.url },
    domain: smallDomain(),
    numTrials: 3,
    maxConcurrency: 1,
  })
  const warned = simulations.map(({ warnings }) => warnings)
  expect(warned[0]).toEqual([expect.stringMatching(/the context same .* add-ulysses #2/)])
  expect(warned[1]).toEqual([expect.stringMatching(/the context same .* add-ulysses #1/)])
  expect(warned[2]).toEqual([])
})

describe('ProtocolMetrics', () => {
  const record: ProtocolMetrics = {
    request_id: 'r',
    endpoint,
    method: 'POST',
    status_code: 200,
    latency_ms: 1,
    timestamp: '2025-11-23T10:30:45.123Z',
  }
  const check = (more: Partial<ProtocolMetrics>) => () => checkMetrics({ ...record, ...more })

  test('S001-72: latency is a finite number', () => {
    for (const latency_ms of [Number.POSITIVE_INFINITY, Number.NaN, -1])
      expect(check({ latency_ms })).toThrow(`latency_ms must be non-negative, got ${latency_ms}`)
  })

  test('S001-74: tokens are whole', () => {
    for (const tokens of [1.5, Number.POSITIVE_INFINITY, -1]) {
      expect(check({ input_tokens: tokens })).toThrow('tokens must be a whole number')
      expect(check({ output_tokens: tokens })).toThrow('tokens must be a whole number')
    }
    expect(check({ input_tokens: 0, output_tokens: 3 })).not.toThrow()
  })

  test('S001-75: an error beside a successful status is refused unless the record explains it', async () => {
    expect(check({ error: 'broken' })).toThrow('error must only be present if the request failed')
    expect(check({ error: 'broken', failed_at: 'answer' })).not.toThrow()
    expect(check({ failed_at: 'answer' })).toThrow('failed_at needs an error')
    expect(check({ error: 'HTTP 500', status_code: 500, failed_at: 'status' })).not.toThrow()
    const { status_code: _, ...unanswered } = record
    const lost = { ...unanswered, error: 'lost', failed_at: 'connection' } as const
    expect(() => checkMetrics(lost)).not.toThrow()
  })

  test('S001-78, S001-80: a request that fails has its input tokens', async () => {
    for (const answer of [
      { error: { code: -32603, message: 'broken' } },
      { status: 500, body: '{}' },
    ]) {
      const peer = await servePeer(() => answer)
      const agent = { endpoint: peer.url }
      const { simulations } = await runEvaluation({ agent, domain: smallDomain(), maxRetries: 0 })
      const [first] = simulations[0]?.protocol_metrics ?? []
      expect(first).toMatchObject({ error: expect.any(String), token_source: expect.any(String) })
      expect(first?.input_tokens).toBeGreaterThan(20)
      expect(first).not.toHaveProperty('output_tokens')
    }
  })

  test('S001-75: a real run explains each', async () => {
    const broken = { error: { code: -32603, message: 'broken' } }
    for (const [answer, failed_at] of [
      [broken, 'answer'],
      [{ status: 500, body: '{}' }, 'status'],
    ] as const) {
      const peer = await servePeer(() => answer)
      const agent = { endpoint: peer.url }
      const { simulations } = await runEvaluation({ agent, domain: smallDomain(), maxRetries: 0 })
      expect(simulations[0]?.protocol_metrics.at(-1)).toMatchObject({ failed_at })
    }
  })
})

describe('what is exported', () => {
  test('S001-76: with prices each summary of metrics.json has its cost', async () => {
    const saveTo = join(await directory(), 'run')
    const peer = await servePeer(() => agentSays('Sorry'))
    const prices = { agent: { input_per_million: 1_000_000, output_per_million: 1_000_000 } }
    const agent = { endpoint: peer.url }
    await runEvaluation({ agent, domain: smallDomain(), prices, saveTo })
    const documents = JSON.parse(await readFile(join(saveTo, 'metrics.json'), 'utf8'))
    for (const { summary } of documents)
      expect(summary.estimated_cost_usd).toBe(summary.total_tokens)
    expect(documents[0].summary.total_tokens).toBeGreaterThan(0)
  })

  test('S001-77, S001-79: records of retried attempts and of discovery, with their trial', async () => {
    const saveTo = join(await directory(), 'run')
    const refusals = new Set([0, 2])
    const peer = await servePeer((_, index) =>
      refusals.has(index) ? { status: 401, body: '{}' } : agentSays('Sorry'),
    )
    const agent = { endpoint: peer.url }
    const { simulations, summary } = await runEvaluation({
      agent,
      domain: smallDomain(),
      numTrials: 2,
      maxConcurrency: 1,
      saveTo,
    })
    expect(simulations.map(({ retried_metrics }) => retried_metrics?.length)).toEqual([1, 1])
    expect(summary.metrics.total_requests).toBe(peer.requests.length)
    const documents = JSON.parse(await readFile(join(saveTo, 'metrics.json'), 'utf8'))
    const [{ task_id }] = simulations as [Simulation] // two trials of one task
    const places = documents.map(
      (one: { task_id: string | null; protocol_metrics: ProtocolMetrics[] }) => [
        one.task_id,
        one.protocol_metrics.map(({ trial, attempt }) => [trial, attempt]),
      ],
    )
    expect(places).toEqual([
      [
        task_id,
        [
          [0, 1],
          [0, 2],
        ],
      ],
      [
        task_id,
        [
          [1, 1],
          [1, 2],
        ],
      ],
      [null, [[undefined, undefined]]],
    ])
    expect(documents[0].summary).toMatchObject({ total_requests: 2, error_count: 1 })
    const lines = (await readFile(join(saveTo, 'metrics.jsonl'), 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toHaveLength(peer.requests.length)
    expect(lines[0]).toMatchObject({ task_id: null, method: 'GET' })
    expect(
      lines.slice(1).map(({ trial, attempt, status_code }) => [trial, attempt, status_code]),
    ).toEqual([
      [0, 1, 401],
      [0, 2, 200],
      [1, 1, 401],
      [1, 2, 200],
    ])
  })
})
