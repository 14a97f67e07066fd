import { describe, expect, test } from 'vitest'
import {
  createA2AConfig,
  createAgentUnderTest,
  openEndpoint,
} from '../../../src/eval/agent/under-test.ts'
import { spoken } from '../../../src/eval/domain/domain.ts'
import { createCollector } from '../../../src/eval/metrics.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { silent } from '../../../src/shared/log.ts'
import { agentMessage, agentSays, type PeerAnswer, servePeer } from '../serving.ts'
import { addTask, smallDomain } from '../small-domain.ts'

const call = { tool_call: { name: 'add_book', arguments: { title: 'Ulysses' } } }

/** A peer that solves the shelf's task, each conversation in a context of its own. */
function solver() {
  let contexts = 0
  return servePeer(({ params: { message } }) => {
    const contextId = message.contextId ?? `ctx-${++contexts}`
    const parts = message.contextId ? [{ text: 'Added, 2 books.' }] : [{ data: call }]
    return { result: { message: agentMessage(parts, contextId) } }
  })
}

describe('AT-16 evaluation flow', () => {
  test('keeps two concurrent tasks apart, in contexts that the first answers name', async () => {
    const peer = await solver()
    const tasks = [addTask({ id: 'one' }), addTask({ id: 'two' })]
    const { simulations, summary } = await runEvaluation({
      agent: { endpoint: peer.url },
      domain: smallDomain(tasks),
      maxConcurrency: 2,
    })
    expect(summary.successes).toBe(2)
    expect(new Set(simulations.map((one) => one.context_id))).toEqual(new Set(['ctx-1', 'ctx-2']))
    for (const one of simulations) {
      expect(one.request_count).toBe(2)
      expect(one.messages.map(({ role }) => role)).toEqual([
        'assistant',
        'user',
        'assistant',
        'tool',
        'assistant',
        'user',
      ])
      expect(one.protocol_metrics.map((record) => record.context_id)).toEqual(
        Array(2).fill(one.context_id),
      )
    }
    const sends = peer.requests.filter(({ rpc }) => rpc === 'SendMessage')
    expect(sends.filter(({ params }) => !params.message.contextId)).toHaveLength(2)
    expect(sends).toHaveLength(4)
  })

  test('fetches the card once per evaluation, first of all', async () => {
    const peer = await solver()
    const run = { agent: { endpoint: peer.url }, domain: smallDomain(), numTrials: 3 }
    const { discovery_metrics, summary } = await runEvaluation(run)
    expect(peer.requests.map(({ method }) => method).filter((m) => m === 'GET')).toHaveLength(1)
    expect(peer.requests[0]?.path).toBe('/.well-known/agent-card.json')
    expect(discovery_metrics).toMatchObject([{ method: 'GET', status_code: 200 }])
    expect(summary.metrics.total_requests).toBe(1 + 6)
    await runEvaluation(run)
    expect(peer.requests.filter(({ method }) => method === 'GET')).toHaveLength(2)
  })

  const failures: readonly [
    name: string,
    answer: PeerAnswer,
    error: RegExp,
    status: number | undefined,
    ends: string,
  ][] = [
    ['a 500', { status: 500, body: 'oops' }, /HTTP 500/, 500, 'agent_error'],
    ['a 401', { status: 401, body: '{}' }, /HTTP 401/, 401, 'infrastructure_error'],
    ['a 503', { status: 503, body: '' }, /HTTP 503/, 503, 'infrastructure_error'],
    [
      'a JSON-RPC error',
      { error: { code: -32603, message: 'Broken inside' } },
      /Broken inside/,
      200,
      'agent_error',
    ],
    ['broken JSON', { status: 200, body: '{"jsonrpc": ' }, /./, 200, 'agent_error'],
    ['no answer', 'silence', /1/, undefined, 'timeout'],
  ]
  for (const [name, answer, error, status, ends] of failures)
    test(`records ${name} as a request with an error`, async () => {
      const peer = await servePeer(() => answer)
      const { simulations } = await runEvaluation({
        agent: { endpoint: peer.url, timeout: 1 },
        domain: smallDomain(),
        maxRetries: 0,
      })
      const [one] = simulations
      expect(one?.termination_reason).toBe(ends)
      const last = one?.protocol_metrics.at(-1)
      expect(last?.error).toMatch(error)
      expect(last?.status_code).toBe(status)
      const sends = peer.requests.filter(({ method }) => method === 'POST').length
      expect(one?.protocol_metrics).toHaveLength(sends)
      expect(one?.reward_info.reward).toBe(ends === 'infrastructure_error' ? null : 0)
    })

  test('starts without a context and counts what was sent', async () => {
    const peer = await servePeer(() => agentSays('Hello'))
    const endpoint = openEndpoint(createA2AConfig({ endpoint: peer.url }), { log: silent })
    const metrics = createCollector({ endpoint: peer.url })
    const introduction = { policy: '', tools: [] }
    const agent = createAgentUnderTest({ endpoint, introduction, metrics, log: silent })
    const before = await agent.getInitState()
    expect(before).toMatchObject({ contextId: undefined, requestCount: 0, conversationHistory: [] })
    expect(before.agentCard?.name).toBe('Peer')
    const signal = new AbortController().signal
    const [reply, after] = await agent.generateNextMessage(spoken('user', 'Hi'), before, signal)
    expect(reply.content).toBe('Hello')
    expect(after).toMatchObject({ contextId: 'ctx-abc123', requestCount: 1 })
    expect(before.requestCount).toBe(0)
    await endpoint.close()
  })
})
