import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createA2AConfig } from '../../../src/eval/agent/under-test.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { textOf } from '../../../src/protocol/task.ts'
import {
  agentMessage,
  agentSays,
  type PeerAnswer,
  type PeerRequest,
  servePeer,
} from '../serving.ts'
import { addTask, smallDomain } from '../small-domain.ts'

const call = { tool_call: { name: 'add_book', arguments: { title: 'Ulysses' } } }
const reply = (...parts: object[]): PeerAnswer => ({ result: { message: agentMessage(parts) } })

/** Runs the shelf's one task against a peer that answers its messages in turn. */
async function evaluate(
  answers: readonly PeerAnswer[],
  over: { card?: (url: string) => object } = {},
) {
  const peer = await servePeer((_, index) => answers[index] ?? agentSays('Added, 2.'), over)
  const results = await runEvaluation({ agent: { endpoint: peer.url }, domain: smallDomain() })
  const [simulation] = results.simulations
  if (!simulation) throw new Error('There is one simulation')
  const sent = peer.requests.filter(({ method }) => method === 'POST')
  return { peer, results, simulation, sent, reward: simulation.reward_info.reward }
}

function words(request: PeerRequest | undefined): string {
  return textOf(request?.params.message.parts ?? [])
}

/** What the seed's origin got wrong; each number is a fault that this project must not have. */
describe('faults of the origin', () => {
  test('T-W1: the policy reaches the agent, in its first message and only there', async () => {
    const { sent } = await evaluate([reply({ data: call })])
    expect(words(sent[0])).toContain('<system>\nOnly add books that the user names.\n</system>')
    expect(words(sent[1])).not.toContain('Only add books')
  })

  test('T-W2: the agent is discovered first, and messages go to the interface of its card', async () => {
    const { peer, sent } = await evaluate([])
    expect(peer.requests[0]).toMatchObject({ method: 'GET', path: '/.well-known/agent-card.json' })
    expect(sent.map(({ path }) => path)).toEqual(sent.map(() => '/a2a'))
  })

  test('T-W3: a tool call in a data part is executed; an answer without words is a fault of the agent', async () => {
    const { reward, simulation } = await evaluate([reply({ data: call })])
    expect(simulation.messages[3]).toMatchObject({
      role: 'tool',
      content: '{"count":2}',
      error: false,
    })
    expect(reward).toBe(1)
    const silent = await evaluate([reply({ text: '' })])
    expect(silent.simulation.termination_reason).toBe('agent_error')
    expect(silent.simulation.error).toContain('says nothing')
    expect(silent.simulation.messages.at(-1)).toMatchObject({ role: 'user' })
  })

  test('T-W4: a tool call in a fence or in prose is executed', async () => {
    const fenced = `Sure, let me add it:\n\`\`\`json\n${JSON.stringify(call, null, 2)}\n\`\`\``
    expect((await evaluate([reply({ text: fenced })])).reward).toBe(1)
    expect((await evaluate([reply({ text: `I do ${JSON.stringify(call)} now` })])).reward).toBe(1)
  })

  test('T-W5: a task that is still working is polled to its end', async () => {
    const task = (state: string, parts?: readonly object[]) => ({
      id: 'task-1',
      contextId: 'ctx-abc123',
      status: { state },
      ...(parts && { artifacts: [{ artifactId: 'a', parts }] }),
    })
    const { simulation, sent, reward } = await evaluate([
      { result: { task: task('TASK_STATE_WORKING') } },
      { result: task('TASK_STATE_WORKING') },
      { result: task('TASK_STATE_COMPLETED', [{ data: call }]) },
    ])
    expect(sent.slice(0, 4).map(({ rpc }) => rpc)).toEqual([
      'SendMessage',
      'GetTask',
      'GetTask',
      'SendMessage',
    ])
    expect(simulation.protocol_metrics).toHaveLength(4)
    expect(sent[3]?.params.message).not.toHaveProperty('taskId')
    expect(reward).toBe(1)
  })

  test('T-W6: a failed request leaves a record, whatever failed', async () => {
    const { simulation } = await evaluate([{ error: { code: -32603, message: 'Broken inside' } }])
    expect(simulation.protocol_metrics).toMatchObject([
      { method: 'POST', status_code: 200, error: 'Broken inside' },
    ])
    expect(simulation.metrics_summary.error_count).toBe(1)
  })

  test('T-W7: a run writes its metrics, rounded, with UTC times and without empty costs', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'eval-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const peer = await servePeer(() => agentSays('Sorry'))
    const saveTo = join(directory, 'run')
    await runEvaluation({ agent: { endpoint: peer.url }, domain: smallDomain(), saveTo })
    const [document] = JSON.parse(await readFile(join(saveTo, 'metrics.json'), 'utf8'))
    expect(Object.keys(document)).toEqual(['task_id', 'agent_type', 'protocol_metrics', 'summary'])
    const [record] = document.protocol_metrics
    expect(record.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(record.latency_ms).toBe(Number(record.latency_ms.toFixed(2)))
    expect(JSON.stringify(document)).not.toMatch(/null|estimated_cost_usd/)
    const lines = await readFile(join(saveTo, 'metrics.jsonl'), 'utf8')
    expect(
      lines
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { task_id: null, method: 'GET' },
      { task_id: 'add-ulysses', method: 'POST', trial: 0 },
    ])
  })

  test('T-W8: connections are kept, and empty tokens and TLS checks are settings that count', async () => {
    const peer = await servePeer(() => agentSays('Sorry'))
    const run = { agent: { endpoint: peer.url }, domain: smallDomain(), maxConcurrency: 1 }
    await runEvaluation({ ...run, numTrials: 20 })
    expect(peer.requests).toHaveLength(21)
    expect(peer.connections()).toBeLessThan(5)
    const endpoint = 'https://agent.example.com'
    expect(() => createA2AConfig({ endpoint, authToken: ' ' })).toThrow('auth_token')
    expect(createA2AConfig({ endpoint, verifySsl: false }).verifySsl).toBe(false)
  })

  test('T-W9: a real 0.3 card, in camel case and with required schemes, is understood', async () => {
    const card = (url: string) => ({
      protocolVersion: '0.3.0',
      name: 'Old peer',
      description: 'Speaks 0.3',
      url: `${url}/old`,
      version: '2.0.0',
      preferredTransport: 'JSONRPC',
      capabilities: { streaming: false, pushNotifications: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
      securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer' } },
      security: [{ bearerAuth: [] }],
    })
    const said = { kind: 'message', messageId: 'm1', role: 'agent', contextId: 'ctx-abc123' }
    const { sent, results, reward } = await evaluate(
      [
        { result: { ...said, parts: [{ kind: 'data', data: call }] } },
        { result: { ...said, parts: [{ kind: 'text', text: 'Added, 2.' }] } },
      ],
      { card },
    )
    expect(sent.map(({ rpc, path }) => [rpc, path])).toEqual([
      ['message/send', '/old'],
      ['message/send', '/old'],
    ])
    expect(results.info.agent_info.name).toBe('Old peer')
    expect(reward).toBe(1)
  })

  test('T-W10: several tool results come back in one message', async () => {
    const list = { tool_call: { name: 'list_books', arguments: {} } }
    const { sent, reward } = await evaluate([reply({ data: { tool_calls: [call, list] } })])
    expect(sent).toHaveLength(2)
    expect(words(sent[1]).match(/Tool result \(id=/g)).toHaveLength(2)
    expect(words(sent[1])).toContain('["Emma","Ulysses"]')
    expect(reward).toBe(1)
  })

  test('T-W11: simulations at the same time share nothing', async () => {
    const shelves = new Map<string, string[]>()
    const peer = await servePeer(({ params: { message } }) => {
      const contextId = message.contextId ?? crypto.randomUUID()
      const seen = shelves.get(contextId) ?? []
      shelves.set(contextId, [...seen, textOf(message.parts)])
      const parts = message.contextId ? [{ text: 'Added, 2.' }] : [{ data: call }]
      return { result: { message: agentMessage(parts, contextId) } }
    })
    const tasks = Array.from({ length: 8 }, (_, i) => addTask({ id: `task-${i}` }))
    const run = { agent: { endpoint: peer.url }, domain: smallDomain(tasks), maxConcurrency: 8 }
    const { summary } = await runEvaluation(run)
    expect(summary.successes).toBe(8)
    expect(shelves.size).toBe(8)
    for (const seen of shelves.values()) expect(seen[1]).toContain('{"count":2}')
  })
})
