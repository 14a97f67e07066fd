import type { Agent, Turn } from '../../../src/agents/agent.ts'
import { OpenAIAgent } from '../../../src/agents/openai/agent.ts'
import type { Part } from '../../../src/protocol/types.ts'
import type { SchedulerConfig } from '../../../src/team/config.ts'
import { openModelServer } from '../../../src/testing/index.ts'
import { createReceiver } from '../../webhooks/receiver.ts'
import { approvedTools } from './approved-tools.ts'
import { budgets } from './budgets.ts'
import { contextCounts, contextRules } from './contexts.ts'
import type { Process, Scenario } from './explorer.ts'
import { guarded } from './guards.ts'
import {
  asker,
  chain,
  events,
  remote,
  remoteWorld,
  scripted,
  team,
  toolUser,
  worker,
} from './members.ts'
import { checkedOutputs } from './outputs.ts'
import { feedbackRounds, typedWorkflows } from './typed.ts'
import { inferredWorkflows } from './workflow.ts'

const sayAll =
  (...texts: readonly (string | readonly Part[])[]): Scenario['talk'] =>
  async (user) => {
    for (const text of texts) await user.say(text)
  }

const publish = { approval: { question: 'Publish?' } }

const workflows: readonly Scenario[] = [
  {
    name: 'workflow',
    agents: (p) => [chain('flow', { a: worker(p, 'a'), b: worker(p, 'b'), c: worker(p, 'c') })],
    talk: sayAll('go'),
  },
  {
    name: 'workflow whose member asks',
    agents: (p) => [chain('flow', { a: worker(p, 'a'), b: asker(p, 'b'), c: worker(p, 'c') })],
    talk: sayAll('go', 'red'),
  },
  {
    name: 'nested team that asks',
    agents(p) {
      const inner = chain('inner', { b: asker(p, 'b'), c: worker(p, 'c') })
      return [chain('outer', { a: worker(p, 'a'), inner, d: worker(p, 'd') })]
    },
    talk: sayAll('go', 'red'),
  },
  {
    name: 'twice nested team that asks twice',
    agents(p) {
      const core = chain('core', { b: asker(p, 'b'), c: asker(p, 'c') })
      return [chain('outer', { inner: chain('inner', { core }), d: worker(p, 'd') })]
    },
    talk: sayAll('go', 'red', 'green'),
  },
  {
    name: 'parallel members that both ask',
    agents(p) {
      const agents = { q1: asker(p, 'q1'), q2: asker(p, 'q2'), c: worker(p, 'c') }
      const parallel = [{ agentId: 'q1' }, { agentId: 'q2' }]
      return [team('flow', agents, { type: 'workflow', steps: [{ parallel }, { agentId: 'c' }] })]
    },
    talk: sayAll('go', 'one', 'two'),
  },
  {
    name: 'three parallel members, one of them quiet',
    agents(p) {
      const agents = { q1: asker(p, 'q1'), w: worker(p, 'w'), q2: asker(p, 'q2') }
      const parallel = Object.keys(agents).map((agentId) => ({ agentId }))
      return [team('flow', agents, { type: 'workflow', steps: [{ parallel }] })]
    },
    talk: sayAll('go', 'one', 'two'),
  },
  {
    name: 'map',
    agents(p) {
      const agents = { list: scripted(p, 'list', () => '["x","y","z"]'), each: worker(p, 'each') }
      const steps = [{ agentId: 'list' }, { map: { agentId: 'each', maxParallel: 2 } }]
      return [team('flow', agents, { type: 'workflow', steps })]
    },
    talk: sayAll('go'),
  },
  {
    name: 'loop',
    agents(p) {
      const agents = { grow: scripted(p, 'grow', (text) => `${text}+`), end: worker(p, 'end') }
      const loop = { steps: [{ agentId: 'grow' }], until: '+++', maxIterations: 5 }
      return [team('flow', agents, { type: 'workflow', steps: [{ loop }, { agentId: 'end' }] })]
    },
    talk: sayAll('go'),
  },
  {
    name: 'loop whose member asks',
    agents(p) {
      const grow = scripted(p, 'grow', (text, turn) =>
        turn.task || text.includes('+') ? `${text}+` : events(turn.ask('how?')),
      )
      const loop = { steps: [{ agentId: 'grow' }], until: '++', maxIterations: 5 }
      return [team('flow', { grow }, { type: 'workflow', steps: [{ loop }] })]
    },
    talk: sayAll('go', 'slowly'),
  },
]

const approving = (p: Process) => [
  team(
    'flow',
    { draft: worker(p, 'draft'), publish: worker(p, 'publish') },
    { type: 'workflow', steps: [{ agentId: 'draft' }, publish, { agentId: 'publish' }] },
  ),
]

const approvals: readonly Scenario[] = [
  { name: 'approval', agents: approving, talk: sayAll('news', 'yes') },
  {
    name: 'approval by data',
    agents: approving,
    talk: sayAll('news', [{ data: { approved: true } }]),
  },
  { name: 'refusal', agents: approving, talk: sayAll('news', 'no') },
  {
    name: 'an unclear answer, then approval',
    agents: approving,
    talk: sayAll('news', 'maybe', 'ok'),
  },
  {
    name: 'approval in a nested team',
    agents: (p) => [
      chain('outer', { inner: approving(p)[0] ?? worker(p, 'x'), z: worker(p, 'z') }),
    ],
    talk: sayAll('news', 'hm', 'yes'),
  },
]

const leaders: readonly Scenario[] = [
  {
    name: 'supervisor whose specialist asks',
    agents(p) {
      const agents = { boss: toolUser(p, 'boss'), a: worker(p, 'a'), b: asker(p, 'b') }
      return [team('desk', agents, { type: 'supervisor', supervisorAgentId: 'boss' })]
    },
    talk: sayAll('go', 'red'),
  },
  {
    name: 'router that passes on to a member that asks',
    agents(p) {
      const decision = JSON.stringify({ delegate: { agent_id: 'b', message: 'take it' } })
      const front = scripted(p, 'front', () => decision)
      const agents = { front, b: asker(p, 'b') }
      return [team('desk', agents, { type: 'router', defaultAgentId: 'front' })]
    },
    talk: sayAll('go', 'red'),
  },
]

/** A model service that answers by what it is shown, so that asking again gives the same answer. */
async function modelWorld() {
  const service = await openModelServer(({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool')
    if (results.length === 0)
      return {
        tools: ['pay', 'ship'].map((name) => ({ id: name, name, arguments: { what: name } })),
      }
    if (results.length === 2) return { tools: [{ id: 'thank', name: 'thank', arguments: {} }] }
    return `done with ${results.map(({ content }) => content).join(', ')}`
  })
  return { urls: { model: service.url }, close: service.close }
}

const outside: readonly Scenario[] = [
  {
    name: 'model with tools',
    world: modelWorld,
    agents(p, { urls }) {
      const tool = (name: string) => ({
        name,
        description: name,
        parameters: { type: 'object' },
        async execute() {
          p.note(`tool ${name}`, name)
          return `${name} ok`
        },
      })
      const options = { endpoint: urls?.model ?? '', model: 'm', timeoutSeconds: 20, maxRetries: 0 }
      const names = { id: 'model', name: 'Model', apiKey: 'k' }
      const tools = ['pay', 'ship', 'thank'].map(tool)
      const model = new OpenAIAgent({ ...options, ...names, tools })
      return [chain('flow', { model, end: worker(p, 'end') })]
    },
    talk: sayAll('order'),
  },
  {
    name: 'remote member',
    world: remoteWorld((ledger) => worker(ledger, 'far')),
    agents: (p, w) => [chain('flow', { a: worker(p, 'a'), remote: remote(w), c: worker(p, 'c') })],
    talk: sayAll('go'),
  },
  {
    name: 'remote member that asks',
    world: remoteWorld((ledger) => asker(ledger, 'far')),
    agents: (p, w) => [chain('flow', { a: worker(p, 'a'), remote: remote(w), c: worker(p, 'c') })],
    talk: sayAll('go', 'red'),
  },
  {
    name: 'remote agent that is served as it is',
    world: remoteWorld((ledger) => asker(ledger, 'far')),
    agents: (_p, w) => [remote(w)],
    talk: sayAll('go', 'red'),
  },
  {
    name: 'cancel of a remote member that waits',
    world: remoteWorld((ledger) => asker(ledger, 'far')),
    agents: (p, w) => [chain('flow', { a: worker(p, 'a'), remote: remote(w) })],
    async talk(user) {
      await user.say('go')
      await user.cancel()
    },
  },
  {
    name: 'cancel of a remote member that works',
    world: remoteWorld((ledger) =>
      scripted(ledger, 'far', async function* (_text, turn) {
        yield turn.status('TASK_STATE_WORKING', 'begun')
        await untilAborted(turn)
      }),
    ),
    agents: (_p, w) => [chain('flow', { remote: remote(w) })],
    async talk(user) {
      await user.send('go')
      await user.sees('begun')
      await user.cancel()
    },
  },
  {
    name: 'cancel of a remote member that has not said a word',
    world: remoteWorld((ledger) => scripted(ledger, 'far', (_text, turn) => untilAborted(turn))),
    agents: (p, w) => [chain('flow', { a: worker(p, 'a'), remote: remote(w) })],
    async talk(user) {
      await user.send('go')
      await user.knowsAsked('far')
      await user.cancel()
    },
  },
  {
    name: 'failure beside a remote member that waits',
    world: remoteWorld((ledger) => asker(ledger, 'far')),
    agents: (p, w) => [
      team('pair', { near: breaker(p), remote: remote(w) }, bothAtOnce('near', 'remote')),
    ],
    talk: sayAll('go', 'red'),
  },
  {
    name: 'webhook',
    async world() {
      const receiver = await createReceiver()
      return {
        urls: { hook: receiver.url },
        async facts() {
          const ids = (): readonly number[] => [
            ...new Set(
              receiver.requests.map(({ headers }) =>
                Number(String(headers['x-a2a-event-id']).split(':').at(-1)),
              ),
            ),
          ]
          const last = () => receiver.requests.some(({ body }) => body.includes('COMPLETED'))
          while (!last()) await new Promise((resolve) => setTimeout(resolve, 5))
          const seen = ids()
          return seen.every((id, index) => index === 0 || id > (seen[index - 1] ?? 0))
        },
        close: () => receiver.close(),
      }
    },
    options: () => ({ pushNotifications: { guard: { allow: ['127.0.0.1'], allowHttp: true } } }),
    agents: (p) => [chain('flow', { a: worker(p, 'a'), b: worker(p, 'b') })],
    webhook: ({ urls }) => urls?.hook ?? '',
    talk: sayAll('go'),
  },
]

/** Asks, and fails at the answer. */
function breaker(process: Process): Agent {
  return scripted(process, 'near', (_text, turn) => {
    if (turn.task) throw new Error('no')
    return events(turn.ask('near?'))
  })
}

function bothAtOnce(...ids: readonly string[]): SchedulerConfig {
  return { type: 'workflow', steps: [{ parallel: ids.map((agentId) => ({ agentId })) }] }
}

/** Works until somebody calls it off. */
function untilAborted({ signal }: Turn): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

const engine: readonly Scenario[] = [
  {
    name: 'messages that wait behind a question',
    agents: (p) => [
      scripted(p, 'clerk', async function* (text, turn) {
        if (text === 'first') await turn.step('work', () => 1)
        yield text === 'third' ? turn.status('TASK_STATE_COMPLETED', 'all') : turn.ask(`${text}?`)
      }),
    ],
    async talk(user) {
      await user.send('first')
      await user.send('second')
      await user.settled()
      await user.say('third')
    },
  },
  {
    name: 'an agent that runs on while credentials are awaited',
    agents: (p) => [
      scripted(p, 'clerk', async function* (_text, turn) {
        await turn.step('before', () => 1)
        yield turn.status('TASK_STATE_AUTH_REQUIRED', 'Sign in elsewhere')
        await turn.step('after', () => 2)
        yield turn.status('TASK_STATE_WORKING')
        yield 'signed in'
      }),
    ],
    talk: sayAll('go'),
  },
  {
    name: 'values of a context',
    agents: (p) => [
      scripted(p, 'clerk', async (text, turn) => {
        const read = async () => (await turn.context.get('name')) ?? 'nobody'
        const known = await turn.step('read', read)
        turn.context.set('name', text)
        await turn.step('note', () => 1)
        return `${known} then ${await turn.context.get('name')}`
      }),
    ],
    talk: sayAll('Ada'),
  },
  {
    name: 'cancel of a task that waits',
    agents: (p) => [chain('flow', { a: worker(p, 'a'), b: asker(p, 'b') })],
    async talk(user) {
      await user.say('go')
      await user.cancel()
    },
  },
]

/** Workflows with data: types, schemas, guards, values of the conversation and money. */
export const dataScenarios: readonly Scenario[] = [
  ...inferredWorkflows,
  ...feedbackRounds,
  ...checkedOutputs,
  ...contextRules,
  ...guarded,
  ...budgets,
]

/** All others. */
export const scenarios: readonly Scenario[] = [
  ...workflows,
  ...approvals,
  ...typedWorkflows,
  ...leaders,
  ...outside,
  ...approvedTools,
  ...contextCounts,
  ...engine,
]
