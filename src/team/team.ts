import type { Agent, AgentEvent, AgentInfo, Health, Turn, WaitingTask } from '../agents/agent.ts'
import { askAlone } from '../agents/alone.ts'
import { type AgentFunction, toAgent } from '../agents/function.ts'
import { ContentBlocked } from '../agents/guards/blocked.ts'
import type { Guards } from '../agents/guards/guard.ts'
import { cancelTries } from '../agents/output/turn.ts'
import { checkPrices, type ModelPrices } from '../agents/prices.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Json, Message } from '../protocol/types.ts'
import { within } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { toOutside } from './budget.ts'
import { createChannel } from './channel.ts'
import { keysIn, memberSpaces } from './child-turn.ts'
import { toPlain } from './definition.ts'
import { createTeamGuards, guardRun } from './guards.ts'
import { teamHealth, teamInfo } from './info.ts'
import { InvalidTeamError } from './invalid.ts'
import { AgentManager } from './manager.ts'
import { Suspension, waitingReplies } from './memory.ts'
import { createRun, type Run, type RunOptions, type TeamGuards } from './run.ts'
import { Refusal } from './schedulers/approval.ts'
import type { Schedule } from './schedulers/kind.ts'
import { kindOf } from './schedulers/kinds.ts'
import type { MemberReply } from './schedulers/scheduler.ts'
import { linkSignal } from './signal.ts'
import {
  type SchedulerSpelling,
  type TeamConfig,
  type TeamSpelling,
  toTeamConfig,
} from './team-config.ts'
import { createUnpricedWarning } from './unpriced.ts'
import { validateTeam } from './validate.ts'

/** What a team works with, and what it tells. */
export interface TeamOptions {
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Gives numbers from 0 to 1 for the jitter of retries; `Math.random` if absent. */
  readonly random?: () => number
  /** Whether callers learn which member failed; false if absent. */
  readonly exposeMembers?: boolean
  /**
   * What models cost, for `budget.maxCostUsd` and to tell the cost; those of the team or server around count if
   * absent.
   */
  readonly prices?: ModelPrices
}

/** Made once: every turn ends with it, and an error is not free. */
const nobodyReads = new A2AError('taskCanceled', 'Nobody reads the answer any more')

/** Beyond this many events that nobody has read, members wait. */
const maxWaitingEvents = 256

/**
 * A group of agents that is itself an agent. It is checked when it is made and never changes afterwards; any number of
 * runs go on at once, each with its own state.
 */
export class Team implements Agent {
  readonly resumable = true
  readonly kind = 'team'
  /** What the team is made of. */
  readonly config: TeamConfig
  /** The registry that has its members. */
  readonly manager: AgentManager
  readonly #ownsMembers: boolean
  readonly #schedule: Schedule
  readonly #options: Required<Omit<TeamOptions, 'prices'>>
  readonly #prices: ModelPrices | undefined
  readonly #onUnpriced: RunOptions['onUnpriced']
  readonly #guards: TeamGuards
  /** Opaque, so that remote members learn nothing of us; of this object, so that equal ids elsewhere are no cycle. */
  readonly #hop = newId()

  /** @throws InvalidTeamError for a team that is not valid, unless it `isChecked`, as the teams of a file are. */
  constructor(
    team: TeamSpelling,
    manager: AgentManager,
    options: TeamOptions & { readonly isChecked?: boolean; readonly ownsMembers?: boolean } = {},
  ) {
    const config = toTeamConfig(team)
    if (!options.isChecked) validateTeam(config, manager)
    this.config = config
    this.manager = manager
    this.#ownsMembers = options.ownsMembers ?? false
    this.#guards = createTeamGuards(config)
    this.#schedule = kindOf(config.scheduler).create(config.scheduler)
    const { clock = systemClock, random = Math.random, exposeMembers = false } = options
    this.#options = { clock, random, exposeMembers }
    if (options.prices) checkPrices(options.prices)
    this.#prices = options.prices
    this.#onUnpriced = createUnpricedWarning(config.id)
  }

  /** The configuration, and that of members which are teams. */
  get definition(): Json {
    const members = this.config.agents.flatMap(({ agentId }) => {
      const definition = this.manager.get(agentId)?.definition
      return definition === undefined ? [] : [[agentId, definition]]
    })
    return toPlain([this.config, members])
  }

  /** Who the team is. Members that cannot be asked are left out of its abilities. */
  info(): Promise<AgentInfo> {
    return teamInfo(this.config, this.manager)
  }

  /** Healthy when all members are. */
  health(): Promise<Health> {
    return teamHealth(this.config, this.manager)
  }

  /** Tells the members that wait, and those that keep something with the task, such as work elsewhere. */
  async cancel(task: WaitingTask): Promise<void> {
    await this.#tell(task, [...memberSpaces(task.keys()), ...placesOf(waitingReplies(task))])
  }

  /** Tells members that nobody wants their part of a task any more. */
  async #tell(task: WaitingTask, places: readonly MemberPlace[]): Promise<void> {
    const members = new Map(places.map((place) => [place.space, place]))
    const told = [...members.values()].map(async ({ agentId, space }) => {
      const load = (key: string): Json | undefined => task.load(`${space}/${key}`)
      const keys = (): Iterable<string> => keysIn(space, task.keys())
      const agent = this.manager.get(agentId)
      // A step may have asked it more than once for an answer that fits.
      if (agent) await cancelTries(agent, { ...task, load, keys })
    })
    const failed = (await Promise.allSettled(told)).find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }

  /** Closes the members, where `defineTeam` made the team; a manager that was handed in is left to its owner. */
  async close(): Promise<void> {
    if (this.#ownsMembers) await this.manager.close()
  }

  /** The manager by another name. */
  get agentManager(): AgentManager {
    return this.manager
  }

  /** The health by another name. */
  healthCheck(): Promise<Health> {
    return this.health()
  }

  /**
   * Works on a message through the scheduler. Within a turn, what members say reaches the caller as it comes; alone,
   * without a server, the answer is one message, a member's question among the possible ones.
   * @throws A2AError, alone, where a member or the scheduler fails.
   */
  process(message: Message): Promise<Message>
  process(message: Message, turn: Turn): AsyncGenerator<AgentEvent>
  process(message: Message, turn?: Turn): Promise<Message> | AsyncGenerator<AgentEvent> {
    return turn ? this.#stream(message, turn) : askAlone(this, message)
  }

  async *#stream(message: Message, turn: Turn): AsyncGenerator<AgentEvent> {
    const channel = createChannel<AgentEvent>(maxWaitingEvents)
    const { maxSeconds } = this.config.budget ?? {}
    const link = linkSignal(turn.signal, {
      clock: this.#options.clock,
      ms: maxSeconds === undefined ? undefined : maxSeconds * 1_000,
      reason: () => new A2AError('timeout', `The team took longer than ${maxSeconds} s`),
    })
    const left: Promise<unknown>[] = []
    const work = this.#work(turn, {
      message,
      emit: (event) => channel.push(event),
      link,
      left,
    })
    const done = work.then(channel.close, channel.fail)
    try {
      for (let events = await channel.take(); events.length > 0; events = await channel.take())
        for (const event of events) yield event
    } finally {
      channel.close()
      link.abort(nobodyReads)
      await done
      link.release()
      // Who cancels waits until work elsewhere is called off, but not for one that does not listen.
      if (turn.signal.aborted && left.length > 0) await within(this.#options.clock, cleanUpMs, left)
    }
  }

  async #work(
    turn: Turn,
    io: Pick<RunOptions, 'message' | 'emit' | 'link' | 'left'>,
  ): Promise<void> {
    const { config } = this
    let run = createRun(turn, {
      config,
      manager: this.manager,
      ...this.#options,
      prices: this.#prices,
      onUnpriced: this.#onUnpriced,
      guards: this.#guards,
      ...io,
      hop: this.#hop,
    })
    try {
      if (config.guards) run = await guardRun(run, config.guards, io.message)
      const reply = await this.#schedule(run)
      await run.output.deliver(reply)
      await run.memory.end()
      await run.output.complete(run.budget.used)
    } catch (thrown) {
      if (thrown instanceof Refusal && !turn.signal.aborted) await this.#callOff(run)
      await endEarly(run, thrown).catch(async (failure: unknown) => {
        // Who ended the turn from outside tells the members, or takes them up again.
        if (!turn.signal.aborted) await this.#callOff(run)
        throw toOutside(run.budget, failure)
      })
    }
  }

  /** Calls off what members wait with: the run ends, and nobody will answer them. After a crash it ends again. */
  async #callOff({ turn, memory }: Run): Promise<void> {
    const waiting = placesOf(memory.waiting())
    if (waiting.length === 0) return
    const { taskId, contextId } = turn
    const task = { taskId, contextId, load: (key: string) => turn.load(key), keys: () => [] }
    const told = this.#tell(task, waiting).catch((err: unknown) =>
      turn.log.warn({ taskId, err }, 'A member could not be called off'),
    )
    await within(this.#options.clock, cleanUpMs, [told])
  }
}

type MemberPlace = NonNullable<MemberReply['from']>

function placesOf(replies: readonly MemberReply[]): readonly MemberPlace[] {
  return replies.flatMap(({ from }) => from ?? [])
}

/** As long as a remote agent has to name its task and to accept the cancel. */
const cleanUpMs = 8_000

/** A team with the agents it is made of: `agents` has the members in order, each under its id. */
export interface TeamDefinition<Id extends string = string>
  extends Omit<TeamSpelling, 'agents' | 'description' | 'scheduler' | 'guards'>,
    TeamOptions {
  /** What it does, for those who choose among agents. */
  readonly description?: string
  /** The members by their ids; functions may be members. */
  readonly agents: { readonly [Member in Id]: Agent | AgentFunction }
  /** How the team works. */
  readonly scheduler: SchedulerSpelling<NoInfer<Id>>
  /** Guards on what the team is asked and on what it answers. */
  readonly guards?: Guards<NoInfer<Id>>
}

/**
 * Makes a team of agents and a scheduler in one expression.
 * @throws InvalidTeamError for a team that is not valid.
 */
export function defineTeam<const Id extends string>(definition: TeamDefinition<Id>): Team {
  const { agents, clock, random, exposeMembers, prices, ...config } = definition
  mustBeMembers(config.id, agents)
  const manager = new AgentManager(clock ? { clock } : {})
  for (const [id, given] of Object.entries<Agent | AgentFunction>(agents))
    manager.registerWithId(id, toAgent(given, { at: `agents.${id}`, name: id }))
  const members = Object.keys(agents).map((agentId) => ({ agentId }))
  return new Team({ description: '', ...config, agents: members }, manager, {
    ownsMembers: true,
    ...(clock && { clock }),
    ...(random && { random }),
    ...(exposeMembers !== undefined && { exposeMembers }),
    ...(prices && { prices }),
  })
}

/** From JavaScript anything may stand there. */
function mustBeMembers(id: string, agents: unknown): void {
  if (typeof agents === 'object' && agents !== null && !Array.isArray(agents)) return
  const must = 'must be an object of agents by their ids'
  const reason =
    agents === undefined ? 'is missing' : `${must}${Array.isArray(agents) ? ', not a list' : ''}`
  throw new InvalidTeamError(id, 'invalidShape', { reason, path: ['agents'] })
}

/** A question or a refusal is an end that the caller is told; everything else is a failure. */
async function endEarly(run: Run, thrown: unknown): Promise<void> {
  run.link.throwIfAborted()
  if (thrown instanceof Suspension) {
    // First, so that what a judge of the question costs is kept with the rest.
    const question = await run.output.toQuestion(thrown.reply)
    await run.memory.suspend(thrown.key, run.budget)
    await run.output.ask(question)
  } else if (thrown instanceof Refusal) {
    await run.memory.end()
    await run.output.refuse(thrown.message)
  } else if (thrown instanceof ContentBlocked) {
    const { message, at, cause } = thrown
    throw new ContentBlocked(message, { at, usage: run.budget.used, cause })
  } else throw thrown
}
