import fc from 'fast-check'
import { expect } from 'vitest'
import type { Agent } from '../../../src/agents/agent.ts'
import { OpenAIAgent } from '../../../src/agents/openai/agent.ts'
import { asTool, defineTool } from '../../../src/agents/tools.ts'
import { createServer, listen } from '../../../src/server/index.ts'
import { createMemoryStore } from '../../../src/store/memory/store.ts'
import type { Step } from '../../../src/team/config.ts'
import { defineTeam } from '../../../src/team/team.ts'
import {
  createInstantClock,
  type ModelAnswer,
  type ModelRequest,
  openModelServer,
} from '../../../src/testing/index.ts'
import {
  type CrashPoint,
  type Outcome,
  type Process,
  play,
  type Scenario,
  type World,
} from './explorer.ts'
import { asker, remote } from './members.ts'
import { model } from './models.ts'

/** A step of a random team: a member that costs something, or several around others. */
type Sketch =
  | { readonly kind: (typeof members)[number] }
  | { readonly kind: (typeof groups)[number]; readonly inner: readonly Sketch[] }

/**
 * Members by what they do to be paid for: `plain` is asked once; `tools` calls a tool twice; `asks` uses models as tools;
 * `unfit` fits its schema at the second try; `cut` fails with a paid answer, twice, before its fallback; `asker` asks the
 * user; `buyer` has a tool that the user approves; `remote` is a model behind a server of its own.
 */
const members = ['plain', 'tools', 'asks', 'unfit', 'cut', 'asker', 'buyer', 'remote'] as const
const groups = ['parallel', 'map', 'loop', 'team', 'supervisor', 'judged'] as const

const { sketch } = fc.letrec<{ sketch: Sketch; list: readonly Sketch[] }>((tie) => ({
  sketch: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    fc.record({ kind: fc.constantFrom(...members) }),
    fc.record({ kind: fc.constantFrom(...groups), inner: tie('list') }),
  ) as fc.Arbitrary<Sketch>, // of these kinds
  list: fc.array(tie('sketch'), { minLength: 1, maxLength: 2 }),
}))

const teamOf = fc.array(sketch, { minLength: 1, maxLength: 3 })

const outputSchema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }

/** What the service says: the same to the same question, whichever process asks it. */
function reply({ model: name, messages, tools = [] }: ModelRequest): ModelAnswer {
  const said = messages.filter(({ role }) => role === 'user').at(-1)?.content
  const text = typeof said === 'string' ? said : JSON.stringify(said)
  const results = messages.filter(({ role }) => role === 'tool').length
  const kind = /^[a-z]+/.exec(name)?.[0] ?? ''
  if (kind === 'judge') return JSON.stringify({ verdict: 'allow', reason: 'fine' })
  if (kind === 'unfit') return text.includes('You have answered') ? '{"ok":true}' : 'not yet'
  if (kind === 'cut') return { chunks: [`${name} is`], finish: 'content_filter' }
  const most = { tools: 2, asks: 2, boss: 2, buyer: 1 }[kind] ?? 0
  if (results < most)
    return {
      text: `${name} ${results}, `,
      tools: (kind === 'tools' ? tools.slice(0, 1) : tools).map(({ function: own }, place) => ({
        id: `${results}-${place}`,
        name: own.name,
        arguments: { message: `for ${own.name}`, what: `${results}` },
      })),
    }
  return `${name}(${text.length} ${results})`
}

const look = defineTool({
  ...{ name: 'look', description: 'Looks.' },
  input: { type: 'object', properties: { what: { type: 'string' } } },
  execute: () => 'seen',
})

/** Pauses between tries are over at once. */
const clock = createInstantClock()

/** Makes the agents and steps of sketches; every member has a name of its own. */
function build(p: Process, w: World, sketches: readonly Sketch[], path: string) {
  const agents: Record<string, Agent> = {}
  const steps = sketches.map((one, index) => toStep(one, `${path}${index + 1}`))

  function add(id: string, agent: Agent): string {
    agents[id] = agent
    return id
  }

  function toStep(one: Sketch, at: string): Step {
    if ('inner' in one) return around(one, at)
    const id = `${one.kind}${at}`
    if (one.kind === 'asker') return { agentId: add(id, asker(p, id)) }
    if (one.kind === 'remote') return { agentId: add(id, remote(w, id)) }
    if (one.kind === 'unfit') return { agentId: add(id, model(p, w, { id })), outputSchema }
    if (one.kind === 'tools') return { agentId: add(id, model(p, w, { id, tools: [look] })) }
    if (one.kind === 'buyer') {
      const tools = [{ ...look, approval: true }]
      return { agentId: add(id, model(p, w, { id, tools })) }
    }
    if (one.kind === 'cut') {
      const fallbackAgentId = add(`plain${at}`, model(p, w, { id: `plain${at}` }))
      const rules = { failOn: ['content_filter'] as const, maxRetries: 1, fallbackAgentId }
      return { agentId: add(id, model(p, w, { id })), ...rules }
    }
    if (one.kind === 'asks') {
      const names = [`plain${at}x`, `plain${at}y`]
      const list = () =>
        Promise.all(names.map((name) => asTool(model(p, w, { id: name }), { name })))
      const toolSources = [{ name: 'agents', list, close: async () => {} }]
      return { agentId: add(id, model(p, w, { id, toolSources })) }
    }
    return { agentId: add(id, model(p, w, { id })) }
  }

  function around({ kind, inner }: Extract<Sketch, { inner: unknown }>, at: string): Step {
    const own = build(p, w, inner, `${at}_`)
    if (kind === 'team' || kind === 'supervisor' || kind === 'judged') {
      const id = `team${at}`
      return { agentId: add(id, nested(kind, id, own)) }
    }
    Object.assign(agents, own.agents)
    if (kind === 'parallel')
      return { parallel: own.steps.map((step) => ({ branch: [{ steps: [step] }] })) }
    if (kind === 'loop')
      return { loop: { steps: own.steps, until: 'iteration >= 2', maxIterations: 2 } }
    return { map: { over: '["x", "y"]', steps: own.steps } }
  }

  function nested(kind: string, id: string, own: { agents: typeof agents; steps: Step[] }): Agent {
    const named = { id, name: id, clock }
    if (kind === 'supervisor') {
      const boss = `boss_${id}`
      const all = { ...own.agents, [boss]: model(p, w, { id: boss }) }
      return defineTeam({
        ...{ ...named, agents: all },
        scheduler: { type: 'supervisor', supervisorAgentId: boss },
      })
    }
    const judge = `judge_${id}`
    const guards = { input: [{ member: judge }], output: [{ member: judge }] }
    const isJudged = kind === 'judged'
    return defineTeam({
      ...named,
      agents: { ...own.agents, ...(isJudged && { [judge]: model(p, w, { id: judge }) }) },
      scheduler: { type: 'workflow', steps: own.steps },
      ...(isJudged && { guards }),
    })
  }

  return { agents, steps }
}

/** A team that is made of sketches, and how often its models were asked. */
function scenarioOf(
  sketches: readonly Sketch[],
  stopAt?: number,
): { scenario: Scenario; requests: () => number } {
  let requests = 0
  let current: Process | undefined
  const scenario: Scenario = {
    name: 'random',
    async world() {
      requests = 0
      const service = await openModelServer((request) => {
        if (++requests === stopAt) current?.stop()
        return reply(request)
      })
      const far = new OpenAIAgent({ endpoint: service.url, model: 'far', id: 'far', name: 'far' })
      const server = await createServer({ agents: [far], logger: false })
      const listening = await listen(server, { port: 0, host: '127.0.0.1', logger: false })
      const close = async (): Promise<void> => {
        await listening.close()
        await far.close()
        await service.close()
      }
      return { urls: { model: service.url, remote: listening.url }, close }
    },
    agents(p, w) {
      current = p
      const { agents, steps } = build(p, w, sketches, '')
      const scheduler = { type: 'workflow', steps } as const
      return [defineTeam({ id: 'flow', name: 'flow', agents, scheduler, clock })]
    },
    async talk(user) {
      let task = await user.say('go')
      for (let turn = 0; task.status.state === 'TASK_STATE_INPUT_REQUIRED' && turn < 30; turn++)
        task = await user.say('yes')
    },
  }
  return { scenario, requests: () => requests }
}

/** How many answers the task says that were paid for: each is 11 tokens in and 7 out. */
function reported({ usage }: Outcome): number {
  const { inputTokens = 0, outputTokens = 0 } = usage ?? {}
  expect(inputTokens * 7).toBe(outputTokens * 11)
  return inputTokens / 11
}

interface Interruptions {
  /** The same team without any. */
  readonly plain: Outcome
  readonly crashes: readonly CrashPoint[]
  /** The request of a model at which the process is told to stop. */
  readonly stopAt?: number
}

/** What is wrong with the usage of a team that is interrupted. */
async function check(sketches: readonly Sketch[], { plain, crashes, stopAt }: Interruptions) {
  const { scenario, requests } = scenarioOf(sketches, stopAt)
  const outcome = await play(scenario, createMemoryStore(), crashes)
  const [told, asked] = [reported(outcome), requests()]
  // A call that failed, and is made again by the next process, was paid for where the log has its failure.
  const least = reported(plain) + Math.max(0, outcome.failures - plain.failures)
  const fits = outcome.state === 'TASK_STATE_COMPLETED' && least <= told && told <= asked
  return fits
    ? []
    : [
        `${JSON.stringify({ crashes, stopAt })}: ${outcome.state} ${told} of ${asked}, least ${least} ${outcome.words}`,
      ]
}

const kinds = ['dieBefore', 'dieAfter', 'stop'] as const

const point = fc.record({
  place: fc.nat(),
  kind: fc.constantFrom(...kinds),
  again: fc.option(fc.constantFrom(...kinds), { nil: undefined }),
})

/** A member that another one asks is stopped after it has reported, before its reply is in the log: one request, once paid for. */
const stoppedSpecialist: [Sketch[], { place: number; kind: 'dieBefore'; again: 'stop' }[]] = [
  [{ kind: 'supervisor', inner: [{ kind: 'remote' }] }, { kind: 'remote' }],
  [39, 67, 68, 95, 97].map((place) => ({ place, kind: 'dieBefore', again: 'stop' })),
]

/** How many teams are made, how often each is interrupted, and from which seed. */
interface UsageRuns {
  readonly teams: number
  readonly interruptions: number
  readonly seed: number
  /** No further team is begun after this many milliseconds. */
  readonly limitMs?: number
}

/**
 * Holds what random teams report as used against what their models were asked: without an interruption each request once;
 * with one or two, no answer that counts is missing, and nothing is counted that was not asked for.
 */
export async function checkUsage({ teams, interruptions, seed, limitMs }: UsageRuns) {
  const points = fc.array(point, { minLength: interruptions, maxLength: interruptions })
  const property = fc.asyncProperty(teamOf, points, async (sketches, places) => {
    const { scenario, requests } = scenarioOf(sketches)
    const plain = await play(scenario, createMemoryStore())
    expect(`${plain.state} ${plain.words}`).toBe('TASK_STATE_COMPLETED ')
    const least = requests()
    expect(reported(plain)).toBe(least)
    const wrong: string[] = []
    for (const { place, kind, again } of places) {
      const commit = 1 + (place % Math.max(plain.commits[0] ?? 1, 1))
      const later = again ? [{ commit: 1 + (place % 7), kind: again }] : []
      wrong.push(...(await check(sketches, { plain, crashes: [{ commit, kind }, ...later] })))
      const stopAt = 1 + (place % Math.max(least, 1))
      wrong.push(...(await check(sketches, { plain, crashes: [], stopAt })))
    }
    expect(wrong).toEqual([])
  })
  await fc.assert(property, {
    ...{ numRuns: teams, seed, examples: [stoppedSpecialist] },
    ...(limitMs !== undefined && { interruptAfterTimeLimit: limitMs }),
  })
}
