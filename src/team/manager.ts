import type { Agent, AgentInfo, Health } from '../agents/agent.ts'
import { validateAgentId } from '../protocol/card.ts'
import { LinkedSignal, withSignal } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { type Logger, silent } from '../shared/log.ts'
import { checkOptions } from '../shared/options.ts'

interface CachedHealth {
  readonly agent: Agent
  readonly until: number
  readonly answer: Promise<Health>
}

/** What a manager works with. */
export interface AgentManagerOptions {
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Where it tells what it does; nowhere if absent. */
  readonly log?: Logger
}

/** How an agent is registered. */
export interface RegisterOptions {
  /** Take the place of an agent that has this id; without it a second one is refused. */
  readonly replace?: boolean
}

/** A health answer is worth this long; asking every member for every probe would be a load of its own. */
const healthTtlMs = 2_000

/**
 * An agent that has not said how or who it is by then counts as one that cannot say. Without this bound, two servers
 * with teams that contain each other would wait for each other's cards.
 */
const answerMs = 5_000

/**
 * A registry of agents that teams share. It contacts no agent by itself: an agent that is down can be registered, listed
 * and named in teams.
 */
export class AgentManager {
  readonly #agents = new Map<string, Agent>()
  readonly #health = new Map<string, CachedHealth>()
  readonly #clock: Clock
  readonly #log: Logger

  constructor(options: AgentManagerOptions = {}) {
    checkOptions('AgentManager', options, { clock: 'object', log: 'object' })
    this.#clock = options.clock ?? systemClock
    this.#log = options.log ?? silent
  }

  /** Registers an agent under the id it gives itself, which a remote agent may have to be asked for. */
  async register(agent: Agent, options: RegisterOptions = {}): Promise<string> {
    const { id } = await agent.info()
    this.#register(id, agent, options)
    return id
  }

  /** Registers an agent under an id of your own, a UUID or a qualified name, without asking the agent anything. */
  registerWithId(id: string, agent: Agent, options: RegisterOptions = {}): void {
    if (id.trim() !== '' && !validateAgentId(id))
      throw new Error(`"${id}" cannot be the id of an agent`)
    this.#register(id, agent, options)
  }

  #register(id: string, agent: Agent, options: RegisterOptions): void {
    if (id.trim() === '') throw new Error('An agent needs an id')
    if (this.#agents.has(id) && !options.replace)
      throw new Error(`Agent "${id}" is already registered`)
    this.#agents.set(id, agent)
    this.#health.delete(id)
  }

  /** Gives the agent with this id. */
  get(id: string): Agent | undefined {
    return this.#agents.get(id)
  }

  /** Gives what agents say of themselves, for those that the test picks, in the order of registration. */
  async find(test: (info: AgentInfo) => boolean): Promise<readonly AgentInfo[]> {
    return (await this.list()).filter(test)
  }

  /** Finds agents with an ability that contains this text, whatever the case. */
  async findByCapability(text: string): Promise<readonly AgentInfo[]> {
    const wanted = text.toLowerCase()
    return this.find((info) =>
      info.capabilities.some((ability) => ability.toLowerCase().includes(wanted)),
    )
  }

  /** Gives what all agents say of themselves, in the order of registration. */
  async list(): Promise<readonly AgentInfo[]> {
    return Promise.all(this.listIds().map((id) => this.info(id)))
  }

  /** Gives the ids of all agents, in the order of registration. */
  listIds(): readonly string[] {
    return [...this.#agents.keys()]
  }

  /**
   * Gives what one agent says of itself, under the id it is registered with. An agent that cannot say appears with its
   * id alone and the metadata `unavailable`.
   */
  async info(id: string): Promise<AgentInfo> {
    try {
      const agent = this.#agents.get(id)
      const info = agent && (await this.#soon(async () => agent.info()))
      if (info) return { ...info, id, capabilities: [...new Set(info.capabilities)] }
    } catch (error) {
      this.#log.warn({ agent: id, error }, 'An agent does not say who it is')
    }
    return { id, name: id, description: '', capabilities: [], metadata: { unavailable: 'true' } }
  }

  /** Takes an agent out and tells whether it was there. Running work with it goes on. */
  remove(id: string): boolean {
    this.#health.delete(id)
    return this.#agents.delete(id)
  }

  /** Counts the agents. */
  count(): number {
    return this.#agents.size
  }

  /** Takes all agents out. */
  clear(): void {
    this.#agents.clear()
    this.#health.clear()
  }

  /** Tells whether one agent can answer now; the answer is at most two seconds old. */
  async health(id: string): Promise<Health> {
    const agent = this.#agents.get(id)
    if (!agent) return { healthy: false, reason: 'not registered' }
    const known = this.#health.get(id)
    if (known?.agent === agent && known.until > this.#clock.elapsed()) return known.answer
    const answer = this.#ask(agent)
    this.#health.set(id, { agent, until: this.#clock.elapsed() + healthTtlMs, answer })
    return answer
  }

  /** Tells whether each agent can answer now. */
  async healthCheckAll(): Promise<Readonly<Record<string, Health>>> {
    const ids = this.listIds()
    const answers = await Promise.all(ids.map((id) => this.health(id)))
    return Object.fromEntries(ids.map((id, i) => [id, answers[i] ?? { healthy: false }]))
  }

  /** Closes every agent and takes it out. One that fails to close does not keep the others open. */
  async close(): Promise<void> {
    const agents = [...this.#agents]
    this.clear()
    for (const [id, agent] of agents)
      await agent.close?.().catch((error: unknown) => {
        this.#log.warn({ agent: id, error }, 'An agent did not close')
      })
  }

  async #ask(agent: Agent): Promise<Health> {
    try {
      return await this.#soon(async () => (await agent.health?.()) ?? { healthy: true })
    } catch (error) {
      this.#log.warn({ error }, 'A health check failed')
      return { healthy: false, reason: 'the health check failed' }
    }
  }

  async #soon<T>(work: () => Promise<T>): Promise<T> {
    const limit = new LinkedSignal(new AbortController().signal, {
      clock: this.#clock,
      ms: answerMs,
      reason: () => new Error('no answer in time'),
    })
    try {
      return await withSignal(work(), limit.signal)
    } finally {
      limit.release()
    }
  }
}
