import type { Agent } from '../../../src/agents/agent.ts'
import { OpenAIAgent } from '../../../src/agents/openai/agent.ts'
import { defineTool, type Tool } from '../../../src/agents/tools.ts'
import { openModelServer } from '../../../src/testing/index.ts'
import type { Process, Scenario, World } from './explorer.ts'
import type { Ledger } from './ledger.ts'
import { asker, chain, team, worker } from './members.ts'

/** What a system outside has done: a call that begins again comes under the same key, and is done once. */
const effects = new WeakMap<World, Map<string, Set<string>>>()

/** A model that pays and ships at once, then thanks; a leader asks a member besides. How often each was done is a fact. */
async function world(ledger: Ledger): Promise<World> {
  const service = await openModelServer(({ messages, tools = [] }) => {
    const results = messages.filter(({ role }) => role === 'tool')
    const leads = tools.some((tool) => tool.function.name === 'delegate_to_b')
    const ask = {
      id: 'b',
      name: 'delegate_to_b',
      arguments: { message: `after ${results.length}` },
    }
    const calls = ['pay', 'ship'].map((name) => ({ id: name, name, arguments: { what: name } }))
    const says = (text: string) => {
      ledger.note('model', `after ${results.length}`, text)
      return text
    }
    if (results.length === 0)
      return { text: says('I begin. '), tools: leads ? [...calls, ask] : calls }
    const thank = { id: 'thank', name: 'thank', arguments: { what: 'you' } }
    if (results.length === (leads ? 3 : 2))
      return { text: says('I thank. '), tools: leads ? [ask, thank] : [thank] }
    return says(`done with ${results.map(({ content }) => content).join(', ')}`)
  })
  const done = new Map<string, Set<string>>()
  const made: World = {
    urls: { model: service.url },
    facts: async () => [...done].map(([name, keys]) => [name, keys.size]).sort(),
    close: service.close,
  }
  effects.set(made, done)
  return made
}

function tool(p: Process, w: World, name: string): Tool {
  return defineTool({
    name,
    description: name,
    input: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
    approval: name !== 'thank',
    async execute(_args, { key }) {
      if (!p.alive) await new Promise(() => {})
      p.note(`tool ${name}`, name, `${name} ok`)
      const done = effects.get(w)
      done?.set(name, (done.get(name) ?? new Set()).add(key))
      return `${name} ok`
    },
  })
}

function model(p: Process, w: World): Agent {
  const options = { endpoint: w.urls?.model ?? '', model: 'm', timeoutSeconds: 20, maxRetries: 0 }
  const tools = ['pay', 'ship', 'thank'].map((name) => tool(p, w, name))
  return new OpenAIAgent({ ...options, id: 'model', name: 'Model', apiKey: 'k', tools })
}

const saying =
  (...texts: readonly string[]): Scenario['talk'] =>
  async (user) => {
    for (const text of texts) await user.say(text)
  }

/** Models that ask before they use a tool. */
export const approvedTools: readonly Scenario[] = [
  {
    name: 'tools that need approval',
    world,
    agents: (p, w) => [model(p, w)],
    talk: saying('order', 'yes', 'hm', 'yes'),
  },
  {
    name: 'a tool that is refused after another was approved, in a team',
    world,
    agents: (p, w) => [chain('flow', { model: model(p, w), end: worker(p, 'end') })],
    talk: saying('order', 'yes', 'no'),
  },
  {
    name: 'tools of a member of a nested team that need approval',
    world,
    agents(p, w) {
      const inner = chain('inner', { model: model(p, w), c: worker(p, 'c') })
      return [chain('outer', { a: worker(p, 'a'), inner, d: worker(p, 'd') })]
    },
    talk: saying('order', 'yes', 'yes'),
  },
  {
    name: 'a supervisor whose tools need approval and whose specialist asks',
    world,
    agents(p, w) {
      const agents = { boss: model(p, w), b: asker(p, 'b') }
      return [team('desk', agents, { type: 'supervisor', supervisorAgentId: 'boss' })]
    },
    talk: saying('order', 'red', 'yes', 'yes', 'green'),
  },
]
