import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent, AgentEvent, AgentReply, Turn } from '../../src/agents/index.ts'
import type { Message } from '../../src/index.ts'
import { clock } from './still.ts'

/** The public entrances of one build. */
export interface Build {
  readonly agents: typeof import('../../src/agents/index.ts')
  readonly console: typeof import('../../src/console/index.ts')
  readonly server: typeof import('../../src/server/index.ts')
  readonly store: typeof import('../../src/store/index.ts')
  readonly team: typeof import('../../src/team/index.ts')
  readonly testing: typeof import('../../src/testing/index.ts')
}

/** The agents that both builds serve, and control over their turns. */
export interface Cast {
  readonly agents: readonly Agent[]
  /** Lets every turn that holds go on; false where none does. */
  release(): boolean
  /** Resolves when no turn runs but those that hold. */
  idle(): Promise<void>
}

type Play = (turn: Turn, words: string, stage: Stage) => AgentReply

/** What plays share: which tasks have a turn that runs or holds, and the points at which the process may be killed. */
class Stage {
  readonly #running = new Map<string, number>()
  readonly #holding = new Map<() => void, string>()
  #idle: (() => void)[] = []

  /** Counts a turn without changing what kind of reply it gives. */
  track({ taskId }: Turn, reply: () => AgentReply): AgentReply {
    this.#running.set(taskId, (this.#running.get(taskId) ?? 0) + 1)
    const end = (): void => {
      const left = (this.#running.get(taskId) ?? 0) - 1
      if (left > 0) this.#running.set(taskId, left)
      else this.#running.delete(taskId)
      this.#tell()
    }
    try {
      const given = reply()
      if (isIterable(given)) return ended(given, end)
      if (given instanceof Promise) return given.finally(end)
      end()
      return given
    } catch (error) {
      end()
      throw error
    }
  }

  /** Waits for `release`, or for the end of the turn. */
  async hold({ signal, taskId }: Turn): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.#holding.delete(leave)
        if (signal.aborted) reject(signal.reason)
        else resolve()
      }
      if (signal.aborted) return leave()
      signal.addEventListener('abort', leave, { once: true })
      this.#holding.set(leave, taskId)
      this.#tell()
    })
  }

  release(): boolean {
    const holding = [...this.#holding.keys()]
    for (const leave of holding) leave()
    return holding.length > 0
  }

  /** Says that the turn is at a point; where the process is to be killed there, the turn waits for its end. */
  async reach(point: string): Promise<void> {
    if (process.env.STILL_KILL_AT !== point) return
    // What the turn gave before is stored by then: how much of it would be is a matter of time.
    await sleep(250)
    process.send?.({ point })
    await new Promise(() => {})
  }

  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  /** A team and its member run for the same task: where one holds, the other waits for it. */
  #isIdle(): boolean {
    const held = new Set(this.#holding.values())
    return [...this.#running.keys()].every((taskId) => held.has(taskId))
  }

  #tell(): void {
    if (this.#isIdle()) for (const resolve of this.#idle.splice(0)) resolve()
  }
}

const plays: Readonly<Record<string, Play>> = {
  string: (_turn, words) => `Echo: ${words}`,
  say: (turn, words) => turn.reply(words),
  later: async (turn, words) => turn.reply([{ text: words }, { data: { words } }]),
  nothing: () => undefined,
  task: (turn, words) => ({
    task: {
      id: turn.taskId,
      contextId: turn.contextId,
      status: { state: 'TASK_STATE_COMPLETED', message: turn.reply(`Done: ${words}`) },
      artifacts: [{ artifactId: 'a-1', name: 'result', parts: [{ text: words }] }],
      metadata: { origin: 'play' },
    },
  }),
  async *ask(turn, words) {
    if (turn.number > 1) yield `You said ${words}, after ${turn.history.length} messages`
    else yield turn.ask(`Which one? ${words}`)
  },
  async *auth(turn, words) {
    if (turn.number > 1) yield `Signed in: ${words}`
    else yield turn.status('TASK_STATE_AUTH_REQUIRED', 'Please sign in at https://auth.example')
  },
  async *reject(turn) {
    yield turn.status('TASK_STATE_REJECTED', 'Not this')
  },
  fail: () => {
    throw new Error('secret detail in /etc/passwd')
  },
  async *break(turn) {
    yield turn.status('TASK_STATE_WORKING', 'Almost')
    yield 'half of it '
    throw new Error('secret detail in /etc/passwd')
  },
  async *hold(turn, words, stage) {
    yield turn.status('TASK_STATE_WORKING', 'Holding')
    await stage.hold(turn)
    yield words === '' ? 'Held' : words
  },
  async *mute(turn, _words, stage) {
    await stage.hold(turn)
    yield turn.status('TASK_STATE_WORKING', 'At last')
    await stage.hold(turn)
  },
  async *chunks(turn, words): AsyncGenerator<AgentEvent> {
    for (const word of words.split(' ')) yield `${word} `
    yield turn.artifact({ artifactId: 'log', parts: [{ text: 'first' }] })
    yield turn.artifact({ artifactId: 'log', parts: [{ text: 'second' }] }, { append: true })
    yield turn.artifact({ artifactId: 'log', parts: [] }, { append: true, lastChunk: true })
  },
  async *parts(turn) {
    yield turn.artifact({
      artifactId: 'out',
      name: 'all parts',
      description: 'one of each',
      parts: [
        { text: 'words', mediaType: 'text/markdown' },
        { raw: 'dGNr', filename: 'a.txt', mediaType: 'text/plain' },
        { url: 'https://files.example/a.png', filename: 'a.png', mediaType: 'image/png' },
        { data: { key: 'value', list: [1, null, 'ü\u0000'] }, metadata: { of: 'part' } },
      ],
      metadata: { of: 'artifact' },
    })
    yield { data: [1, 2, 3] }
  },
  async *states(turn) {
    for (const text of ['one', 'two', 'three']) yield turn.status('TASK_STATE_WORKING', text)
    yield {
      ...turn.status('TASK_STATE_WORKING', 'with metadata'),
      metadata: { a: 1 },
    } as AgentEvent
    yield turn.status('TASK_STATE_COMPLETED', 'The end')
  },
  async *modes(turn) {
    const { acceptedOutputModes, extensions, tenant, metadata = {}, caller } = turn
    const { userId = '' } = caller
    yield { data: { acceptedOutputModes, extensions, tenant, metadata, userId } } as AgentEvent
  },
  async *memory(turn, words) {
    const before = turn.load('words') ?? null
    await turn.save('words', words)
    const shared = (await turn.context.get('words')) ?? null
    turn.context.set('words', words)
    const earlier = (await turn.conversation(5)).length
    turn.trace({ kind: 'play', words })
    yield { data: { before, shared, earlier } }
    yield turn.ask('And then?')
  },
  async *steps(turn, words, stage) {
    yield turn.status('TASK_STATE_WORKING', `Attempt ${turn.attempt}`)
    await stage.reach('before')
    for (const name of ['one', 'two', 'three']) {
      const text = await turn.step(name, async () => {
        await stage.reach(`in-${name}`)
        return `${name}: ${words}`
      })
      await stage.reach(`after-${name}`)
      yield `${text} `
    }
    await stage.reach('end')
    yield turn.status('TASK_STATE_COMPLETED', 'All steps done')
  },
  bad: () => ({ task: { id: 'another', status: { state: 'NO_STATE' } } }) as unknown as AgentReply,
}

/** The words by which plays are chosen. */
export const playNames: readonly string[] = Object.keys(plays)

/** Makes all agents from one build's entrances. Everything that it opens ends with the process. */
export async function createCast(build: Build): Promise<Cast> {
  const stage = new Stage()
  const { defineAgent } = build.agents
  const play = (message: Message, turn: Turn): AgentReply => {
    const [word = '', ...rest] = textOf(message).split(' ')
    const chosen = Object.hasOwn(plays, word) ? plays[word] : undefined
    return stage.track(turn, () => (chosen ?? plays.string)?.(turn, rest.join(' '), stage))
  }
  const about = {
    name: 'Player',
    description: 'Does what the first word says',
    abilities: ['play', 'echo'],
    resumable: true,
  }
  const player = defineAgent(about, play)
  const brittle = defineAgent(
    { name: 'Brittle', version: '2.1.0', inputModes: ['text/plain'] },
    play,
  )
  const member = (name: string, reply: (text: string) => string): Agent =>
    defineAgent({ name, resumable: true }, (message) => reply(textOf(message)))
  return {
    agents: [
      player,
      brittle,
      build.agents.createEchoAgent(),
      ...createTeams(build, { player, member, stage }).map((team) => tracked(team, stage)),
      ...(await createModels(build)).map((model) => tracked(model, stage)),
      tracked(await createRemote(build, player), stage),
    ],
    release: () => stage.release(),
    idle: () => stage.idle(),
  }
}

interface Members {
  readonly player: Agent
  readonly stage: Stage
  member(name: string, reply: (text: string) => string): Agent
}

/** A team of each scheduler kind, and one with every kind of step. */
function createTeams({ team }: Build, { player, member, stage }: Members): readonly Agent[] {
  const lead = member('lead', (text) =>
    text.includes('answered:')
      ? `Summary of ${text.length > 0 ? 'the answers' : 'nothing'}`
      : JSON.stringify({
          delegate: [
            { agent_id: 'worker', message: 'part one' },
            { agent_id: 'player', message: 'chunks a b' },
          ],
        }),
  )
  const worker = member('worker', (text) => `Worked on ${text}`)
  const auction = team.defineScheduler<{ readonly bidders: readonly string[] }>({
    type: 'auction',
    members: ({ bidders }) => bidders,
    create: ({ bidders }) => ({
      async schedule(run) {
        const offers = await run.all(bidders.map((id) => (own) => own.ask(id, 'string offer')))
        await stage.reach('offers')
        const drawn = await run.decide(() => offers.length - 1)
        await run.progress(`${bidders[drawn]} gets the order`)
        return run.ask(bidders[drawn] ?? '', run.message, { live: true, facesCaller: true })
      },
    }),
  })
  const steps = [
    { name: 'draft', agentId: 'worker' },
    {
      name: 'both',
      parallel: [{ agentId: 'worker' }, { agentId: 'player', input: 'string parallel' }],
    },
    {
      branch: [
        { when: "question.text.contains('short')", steps: [{ agentId: 'worker' }] },
        {
          steps: [
            { loop: { steps: [{ agentId: 'worker' }], until: 'round >= 2', maxIterations: 3 } },
          ],
        },
      ],
    },
    { approval: { question: 'Publish?', onFeedback: 'draft' } },
    { name: 'publish', agentId: 'player', input: 'chunks {{ steps.draft.text }} {{ feedback }}' },
  ]
  const agents = { player, lead, worker }
  return [
    team.defineTeam({
      id: 'flow',
      name: 'Flow',
      agents,
      clock,
      scheduler: { type: 'workflow', steps: steps as never }, // one list with every kind of step
    }),
    team.defineTeam({
      id: 'line',
      name: 'Line',
      agents,
      clock,
      scheduler: {
        type: 'workflow',
        steps: [{ agentId: 'worker' }, { agentId: 'player', input: '{{ question.text }}' }],
      },
    }),
    team.defineTeam({
      id: 'led',
      name: 'Led',
      agents,
      clock,
      scheduler: { type: 'supervisor', supervisorAgentId: 'lead' },
    }),
    team.defineTeam({
      id: 'routed',
      name: 'Routed',
      agents,
      clock,
      scheduler: { type: 'router', defaultAgentId: 'player' },
    }),
    team.defineTeam({
      id: 'auctioned',
      name: 'Auctioned',
      agents,
      clock,
      exposeMembers: true,
      scheduler: auction({ bidders: ['worker', 'player'] }),
    }),
  ]
}

/** A model that answers, calls its tool, is refused or breaks off, as the question says; its service is scripted. */
async function createModels({ agents, testing }: Build): Promise<readonly Agent[]> {
  const { url } = await testing.openModelServer(({ messages, tools = [] }) => {
    const last = messages.at(-1)
    const text = typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content)
    if (last?.role === 'tool') return { chunks: ['The tool ', `said ${text}`] }
    if (text?.startsWith('tool'))
      return { text: 'Let me see. ', tools: [{ name: 'weigh', arguments: { text } }] }
    if (text?.startsWith('other') && tools.length > 1)
      return { tools: [{ name: tools.at(-1)?.function.name ?? '', arguments: { a: 1 } }] }
    if (text?.startsWith('fail'))
      return { status: 400, body: { error: { message: 'no such model' } } }
    if (text?.startsWith('break')) return { broken: ['half ', 'of '] }
    if (text?.startsWith('json')) return '{"answer": 42}'
    return { chunks: ['You ', 'said ', text ?? '', `, message ${messages.length}`] }
  })
  const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  const weigh = agents.defineTool({
    name: 'weigh',
    description: 'Weighs a text',
    input: text,
    execute: (args) => `${JSON.stringify(args).length} grams`,
  })
  const outputSchema = {
    type: 'object',
    properties: { answer: { type: 'number' } },
    required: ['answer'],
  }
  const common = { endpoint: url, apiKey: 'none', model: 'fake', clock, maxRetries: 1 }
  const prompts = { systemPrompt: 'Be brief.', random: () => 0.5 }
  return [
    new agents.OpenAIAgent({ id: 'model', name: 'Model', tools: [weigh], ...common, ...prompts }),
    new agents.OpenAIAgent({ id: 'former', name: 'Former', outputSchema, ...common, ...prompts }),
  ]
}

/** The player behind a server of its own, called over A2A. */
async function createRemote({ agents, server }: Build, player: Agent): Promise<Agent> {
  const remote = await server.createServer({ agents: [player], clock, logger: false })
  const { port } = await server.listen(remote, { port: 0, host: '127.0.0.1', logger: false })
  const endpoint = `http://127.0.0.1:${port}`
  return new agents.A2AAgent({ id: 'remote', name: 'Remote', endpoint, clock, random: () => 0.5 })
}

/** The same agent, whose turns are counted. */
function tracked(agent: Agent, stage: Stage): Agent {
  const process = agent.process.bind(agent)
  return Object.assign(agent, {
    // Without a turn a team answers by itself, which the server never asks for.
    process: (message: Message, turn: Turn) => stage.track(turn, () => process(message, turn)),
  })
}

function textOf({ parts }: Message): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

function isIterable(value: unknown): value is AsyncIterable<AgentEvent> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

async function* ended(
  events: AsyncIterable<AgentEvent>,
  end: () => void,
): AsyncGenerator<AgentEvent> {
  try {
    yield* events
  } finally {
    end()
  }
}
