import type { Agent } from '../../../src/agents/agent.ts'
import { asTool, defineTool, type Tool, type ToolSource } from '../../../src/agents/tools.ts'
import type { Step } from '../../../src/team/config.ts'
import { defineTeam, type Team, type TeamDefinition } from '../../../src/team/team.ts'
import type { Process, Scenario, World } from './explorer.ts'
import { asker, worker } from './members.ts'
import { centsFor, model, modelWorld, wrongMoney } from './models.ts'

const outputSchema = {
  type: 'object',
  properties: { score: { type: 'number' }, why: { type: 'string' } },
  required: ['score', 'why'],
}

/** Each model says its name around what it is asked; a reviewer fits its schema at the second try, a buyer uses tools. */
const world = modelWorld(({ model: id, text, results }) => {
  if (id === 'reviewer') {
    const round = text.includes('shorter') ? 'once more' : 'first'
    if (!text.includes('You have answered'))
      return { says: `no score, ${round}`, gives: `no score, ${round}` }
    return { says: `{"score": 1, "why": "it fits, ${round}"}`, gives: `it fits, ${round}` }
  }
  const says = `${id}(${text} ${results})`
  if (id !== 'buyer' || results > 1) return { says, gives: says }
  const tool = { id: `pay-${results}`, name: 'pay', arguments: { what: `${results}` } }
  return { says: { text: says, tools: [tool] }, gives: says }
})

const models = ['a', 'b', 'c', 'reviewer', 'buyer', 'judge', 'boss']
const prices = centsFor(...models)

function pay(p: Process): Tool {
  return defineTool({
    ...{ name: 'pay', description: 'Pays.', approval: true },
    input: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
    async execute(args) {
      const what = Reflect.get(Object(args), 'what')
      if (!p.alive) await new Promise(() => {})
      p.note('pay', `${what}`, `paid ${what}`)
      return `paid ${what}`
    },
  })
}

/** A team that may spend so many cents. */
interface Spending extends Pick<TeamDefinition, 'agents' | 'guards'> {
  readonly id?: string
  readonly steps: readonly Step[]
  readonly cents: number
}

function spending({ id = 'flow', steps, cents, agents, guards }: Spending): Team {
  return defineTeam({
    ...{ id, name: id, agents, prices, budget: { maxCostUsd: cents / 100 } },
    scheduler: { type: 'workflow', steps },
    ...(guards && { guards }),
  })
}

/** Models by their ids. */
function modelsOf(p: Process, w: World, ...ids: readonly string[]): Record<string, Agent> {
  return Object.fromEntries(ids.map((id) => [id, model(p, w, { id })]))
}

const saying =
  (...texts: readonly string[]): Scenario['talk'] =>
  async (user) => {
    for (const text of texts) await user.say(text)
  }

/** Models that say their names around what they are asked, and one that judges. */
const judged = modelWorld(({ model: id, text }) => {
  const gives = id === 'judge' ? `judged [${[...text].reverse().join('')}]` : `${id}(${text})`
  return {
    says: id === 'judge' ? JSON.stringify({ verdict: 'allow', reason: gives }) : gives,
    gives,
  }
})
/** A boss that asks two others at once, by tools whose names begin so. */
const delegating = (prefix: string) =>
  modelWorld(({ model: id, text, results }) => {
    const gives = `${id}(${text} ${results})`
    if (id !== 'boss' || results > 0) return { says: gives, gives }
    const tools = ['a', 'b'].map((to) => ({
      ...{ id: to, name: `${prefix}${to}` },
      arguments: { message: `for ${to}` },
    }))
    return { says: { text: gives, tools }, gives }
  })

const asTools = (agents: Readonly<Record<string, Agent>>): ToolSource => ({
  name: 'agents',
  list: () =>
    Promise.all(Object.entries(agents).map(([id, agent]) => asTool(agent, { name: `ask_${id}` }))),
  close: async () => {},
})

const byJudge = [{ member: 'judge' }]

const wrongs: Scenario['wrongs'] = (outcome, crashes) => wrongMoney(outcome, { crashes })
const ask = (...ids: readonly string[]): readonly Step[] => ids.map((agentId) => ({ agentId }))

/** Teams that may spend so much money and no more, whatever happens meanwhile. */
export const budgets: readonly Scenario[] = [
  {
    name: 'a budget in money that is used up',
    world,
    agents: (p, w) => [
      spending({
        agents: { ...modelsOf(p, w, 'a', 'b', 'c'), asker: asker(p, 'asker') },
        steps: ask('a', 'b', 'asker', 'c', 'a', 'b'),
        cents: 4,
      }),
    ],
    talk: saying('go', 'red'),
    wrongs,
  },
  {
    name: 'a budget in money over a refused try, approved tools and feedback',
    world,
    agents: (p, w) => [
      spending({
        agents: {
          ...modelsOf(p, w, 'a', 'b', 'reviewer'),
          buyer: model(p, w, { id: 'buyer', tools: [pay(p)] }),
        },
        steps: [
          { name: 'draft', agentId: 'a' },
          { agentId: 'reviewer', outputSchema },
          { approval: { question: 'Good?', onFeedback: 'draft' } },
          { agentId: 'buyer', input: 'buy' },
          { agentId: 'b' },
        ],
        cents: 20,
      }),
    ],
    talk: saying('go', 'shorter', 'yes', 'yes', 'yes'),
    wrongs,
  },
  {
    name: 'a budget in money of a nested team and of the one around it',
    world,
    agents(p, w) {
      const inner = spending({
        id: 'inner',
        agents: { ...modelsOf(p, w, 'b', 'c'), asker: asker(p, 'asker') },
        steps: ask('b', 'asker', 'c'),
        cents: 10,
      })
      const agents = { ...modelsOf(p, w, 'a'), inner, end: worker(p, 'end') }
      return [spending({ agents, steps: ask('a', 'inner', 'a', 'end', 'a'), cents: 4 })]
    },
    talk: saying('go', 'red'),
    wrongs,
  },
  {
    name: 'a budget in money of which a judge has its part, over a question',
    world: judged,
    agents: (p, w) => [
      spending({
        agents: modelsOf(p, w, 'a', 'b', 'judge'),
        guards: { input: byJudge, output: byJudge },
        steps: [...ask('a'), { approval: { question: 'Good?' } }, ...ask('b')],
        cents: 20,
      }),
    ],
    talk: saying('go', 'hm', 'yes'),
    wrongs,
  },
  {
    name: 'a budget in money of which the judge of a step has its part',
    world: judged,
    agents: (p, w) => [
      spending({
        agents: { ...modelsOf(p, w, 'a', 'b', 'c', 'judge'), asker: asker(p, 'asker') },
        steps: [
          { agentId: 'a', guards: { input: byJudge, output: byJudge } },
          { agentId: 'b' },
          { agentId: 'asker', guards: { output: byJudge } },
          { agentId: 'c' },
        ],
        cents: 20,
      }),
    ],
    talk: saying('go', 'red'),
    // A model under a judge has not come to its end while the judge is asked.
    wrongs: (outcome, crashes) => wrongMoney(outcome, { crashes, atOnce: 2 }),
  },
  {
    name: 'a budget in money of a model whose tools are models',
    world: delegating('ask_'),
    agents: (p, w) => [
      spending({
        agents: {
          boss: model(p, w, { id: 'boss', toolSources: [asTools(modelsOf(p, w, 'a', 'b'))] }),
        },
        steps: ask('boss'),
        cents: 20,
      }),
    ],
    talk: saying('go'),
    unordered: ['model'],
    wrongs: (outcome, crashes) => wrongMoney(outcome, { crashes, atOnce: 2 }),
  },
  {
    name: 'a budget in money of a supervisor whose specialists cost too',
    world: delegating('delegate_to_'),
    agents: (p, w) => [
      defineTeam({
        ...{ id: 'desk', name: 'desk', agents: modelsOf(p, w, 'boss', 'a', 'b') },
        ...{ prices, budget: { maxCostUsd: 1 } },
        scheduler: { type: 'supervisor', supervisorAgentId: 'boss' },
      }),
    ],
    talk: saying('go'),
    unordered: ['model'],
    wrongs: (outcome, crashes) => wrongMoney(outcome, { crashes, atOnce: 2 }),
  },
]
