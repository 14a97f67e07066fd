import type {
  Agent,
  AgentDetails,
  AgentEvent,
  AgentInfo,
  Health,
  Turn,
  WaitingTask,
} from '../agents/agent.ts'
import { type AgentFunction, toAgent } from '../agents/function.ts'
import { ContentBlocked } from '../agents/guards/check.ts'
import type { Guards } from '../agents/guards/guard.ts'
import { cancelTries } from '../agents/output/tries.ts'
import { checkPrices, findPrice, type ModelPrices } from '../agents/prices.ts'
import { type SchemaInput, toDataSchema } from '../agents/schema.ts'
import { acceptsTools } from '../agents/tools.ts'
import { askAlone } from '../agents/wrap.ts'
import { A2AError } from '../protocol/errors.ts'
import { clientRoutingExtension, historyExtension, usageExtension } from '../protocol/extensions.ts'
import type { Json, Message } from '../protocol/types.ts'
import { LinkedSignal, within } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import { BudgetRules, toOutside } from './budget.ts'
import {
  type SchedulerSpelling,
  type TeamConfig,
  type TeamScheduler,
  type TeamSpelling,
  toTeamConfig,
} from './config.ts'
import { InvalidTeamError } from './errors.ts'
import { guardRun, TeamGuards } from './guards.ts'
import { AgentManager } from './manager.ts'
import { keysIn, memberSpaces } from './member-turn.ts'
import { waitingReplies } from './memory.ts'
import { createChannel } from './output.ts'
import { createRun, Refusal, type Run, type RunStart, Suspension, type TeamParts } from './run.ts'
import type { Schedule, SchedulerKind } from './schedulers/kind.ts'
import { kindOf } from './schedulers/kinds.ts'
import { supportsRouting } from './schedulers/routing.ts'
import type { MemberReply } from './schedulers/scheduler.ts'
import { isTeam, validateTeam } from './validate.ts'

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

/** What a team works with, and what it reports. */
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

const teamOptions: OptionTable<ConstructorParameters<typeof Team>[2] & object> = {
  clock: 'object',
  random: 'function',
  exposeMembers: 'boolean',
  prices: 'object',
  isChecked: 'boolean',
  ownsMembers: 'boolean',
  codeDigest: 'string',
}

/**
 * Makes a team of agents and a scheduler in one expression.
 * @throws InvalidTeamError for a team that is not valid.
 */
export function defineTeam<const Id extends string>(definition: TeamDefinition<Id>): Team {
  checkArgument('defineTeam', 'the definition', definition, 'object')
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

type MemberPlace = NonNullable<MemberReply['from']>

/** Beyond this many unread events, members wait. */
const maxWaitingEvents = 256

/** Made once: every turn ends with it, and an error is not free. */
const nobodyReads = new A2AError('taskCanceled', 'Nobody reads the answer any more')

/** As long as a remote agent has to name its task and to accept the cancel. */
const cleanUpMs = 8_000

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
  /** A digest of the files of code that its guards name. */
  readonly #codeDigest: string | undefined
  readonly #kind: SchedulerKind<TeamScheduler>
  readonly #schedule: Schedule
  readonly #parts: TeamParts

  /** @throws InvalidTeamError for a team that is not valid, unless it `isChecked`, as the teams of a file are. */
  constructor(
    team: TeamSpelling,
    manager: AgentManager,
    options: TeamOptions & {
      readonly isChecked?: boolean
      readonly ownsMembers?: boolean
      readonly codeDigest?: string
    } = {},
  ) {
    checkArgument('Team', 'the configuration', team, 'object')
    checkArgument('Team', 'the manager of its members', manager, 'object')
    checkOptions('Team', options, teamOptions)
    const config = toTeamConfig(team)
    if (!options.isChecked) validateTeam(config, manager)
    this.config = config
    this.manager = manager
    this.#ownsMembers = options.ownsMembers ?? false
    this.#codeDigest = options.codeDigest
    const guards = new TeamGuards(config)
    this.#kind = kindOf(config.scheduler)
    this.#schedule = this.#kind.create(config.scheduler)
    const { clock = systemClock, random = Math.random, exposeMembers = false, prices } = options
    if (prices) checkPrices(prices)
    const budgetRules = new BudgetRules(config, prices)
    // Opaque, so that remote members learn nothing of us; of this object, so that equal ids in other processes are no cycle.
    const hop = newId()
    this.#parts = { config, manager, clock, random, exposeMembers, guards, budgetRules, hop }
  }

  /** The configuration, that of members which are teams, and the versions of members. */
  get definition(): Json {
    const definitions: Json[] = []
    const versions: Json[] = []
    for (const [agentId, { definition, version }] of this.#members()) {
      if (definition !== undefined) definitions.push([agentId, definition])
      if (version !== undefined) versions.push([agentId, version])
    }
    // Left out if empty, so that the digest of a team without versions equals the stored ones.
    return toPlain([this.config, definitions, ...(versions.length > 0 ? [versions] : [])])
  }

  /** @internal */
  get codeDigests(): Readonly<Record<string, string>> | undefined {
    const digests: Record<string, string> = {}
    for (const [, { codeDigests }] of this.#members()) Object.assign(digests, codeDigests)
    if (this.#codeDigest !== undefined) digests[this.config.id] = this.#codeDigest
    return Object.keys(digests).length > 0 ? digests : undefined
  }

  *#members(): Generator<[string, Agent]> {
    for (const { agentId } of this.config.agents) {
      const agent = this.manager.get(agentId)
      if (agent) yield [agentId, agent]
    }
  }

  /** Who the team is. Members that cannot be asked are left out of its abilities. */
  info(): Promise<AgentInfo> {
    return teamInfo(this.config, this.#kind, this.manager)
  }

  /** Healthy when all members are. */
  health(): Promise<Health> {
    return teamHealth(this.config, this.manager)
  }

  /** Tells the members that wait, and those that keep something with the task, such as remote work. */
  async cancel(task: WaitingTask): Promise<void> {
    await this.#tell(task, [...memberSpaces(task.keys()), ...placesOf(waitingReplies(task))])
  }

  /** Cancels the members' parts of a task. */
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
    const link = new LinkedSignal(turn.signal, {
      clock: this.#parts.clock,
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
      // A cancel waits until remote work is cancelled, but not for a member that does not listen.
      if (turn.signal.aborted && left.length > 0) await within(this.#parts.clock, cleanUpMs, left)
    }
  }

  async #work(turn: Turn, start: RunStart): Promise<void> {
    const { guards } = this.config
    let run = createRun(turn, this.#parts, start)
    try {
      if (guards) run = await guardRun(run, guards, start.message)
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

  /** Cancels what members wait with: the run ends, and no answer will come. After a crash it ends again. */
  async #callOff({ turn, memory }: Run): Promise<void> {
    const waiting = placesOf(memory.waiting())
    if (waiting.length === 0) return
    const { taskId, contextId } = turn
    const task = { taskId, contextId, load: (key: string) => turn.load(key), keys: () => [] }
    const told = this.#tell(task, waiting).catch((err: unknown) =>
      turn.log.warn({ taskId, err }, 'A member could not be called off'),
    )
    await within(this.#parts.clock, cleanUpMs, [told])
  }
}

/** A configuration as plain data: schemas as their JSON Schema, functions left out. */
function toPlain(config: unknown): Json {
  return JSON.parse(JSON.stringify(config, (_key, value: unknown) => plainSchema(value)))
}

/** Schemas of libraries are objects of their own, which may contain themselves, or functions. */
function plainSchema(value: unknown): unknown {
  const isObject = typeof value === 'object' || typeof value === 'function'
  if (!isObject || value === null || !('~standard' in value)) return value
  try {
    return toDataSchema(value as SchemaInput, { at: '' }).jsonSchema // the same mark is checked there
  } catch {
    return {} // its library gives none: what stands beside it says what it is
  }
}

/**
 * What a team says of itself: its own words, and its members' abilities in the order of the configuration without
 * duplicates. A member that cannot say what it can do contributes what the configuration says of it.
 */
async function teamInfo(
  config: TeamConfig,
  kind: SchedulerKind<TeamScheduler>,
  manager: AgentManager,
): Promise<AgentInfo> {
  const infos = await Promise.all(config.agents.map(({ agentId }) => manager.info(agentId)))
  const abilities = config.agents.flatMap(({ capabilities = [] }, i) => [
    ...capabilities,
    ...(infos[i]?.capabilities ?? []),
  ])
  return {
    id: config.id,
    name: config.name,
    description: config.description,
    capabilities: [...new Set(abilities)],
    metadata: {
      type: 'team',
      mode: kind.mode(config.scheduler),
      member_count: String(config.agents.length),
    },
    details: { ...detailsOf(config), ...extensionsOf(infos, kind.first(config.scheduler)) },
  }
}

function detailsOf(config: TeamConfig): NonNullable<AgentInfo['details']> {
  const { version, provider, capabilityDetails, proficiencies, skills } = config
  return {
    ...(version !== undefined && { version }),
    ...(provider && { provider }),
    ...(capabilityDetails && { capabilities: capabilityDetails }),
    ...(proficiencies && { proficiencies }),
    ...(skills && { skills }),
  }
}

/**
 * What members can do with messages that the team can therefore do too: tell the tokens used, if any of them does, and
 * read the turns that a client sends along, if the member that gets the client's message does.
 */
function extensionsOf(
  infos: readonly AgentInfo[],
  first: string | undefined,
): Pick<AgentDetails, 'extensions'> {
  const declared = infos.flatMap(({ id, details }) =>
    (details?.extensions ?? []).filter(
      ({ uri }) => uri === usageExtension || (uri === historyExtension && id === first),
    ),
  )
  const extensions = new Map(declared.map((extension) => [extension.uri, extension]))
  return extensions.size > 0 ? { extensions: [...extensions.values()] } : {}
}

/** A team is healthy when all of its members are. */
async function teamHealth(config: TeamConfig, manager: AgentManager): Promise<Health> {
  const ids = config.agents.map(({ agentId }) => agentId)
  const answers = await Promise.all(ids.map((id) => manager.health(id)))
  const members = Object.fromEntries(ids.map((id, i) => [id, answers[i] ?? { healthy: false }]))
  const sick = ids.filter((id) => !members[id]?.healthy)
  if (sick.length === 0) return { healthy: true, members }
  return { healthy: false, reason: `not healthy: ${sick.join(', ')}`, members }
}

function placesOf(replies: readonly MemberReply[]): readonly MemberPlace[] {
  return replies.flatMap(({ from }) => from ?? [])
}

/** A question or a refusal is an end that the caller hears of; everything else is a failure. */
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

/**
 * What a team can do but its author hardly meant: a router without a member that is known to route. Models route by
 * tools, members of the extension by their metadata, and a remote agent, which is not asked here, may declare it. Any
 * other member may still answer with a decision in JSON, which cannot be known before, so this is no error.
 */
export async function warningsOf(
  { id, scheduler, agents }: TeamConfig,
  manager: AgentManager,
): Promise<readonly string[]> {
  if (scheduler.type !== 'router' || agents.length < 2) return []
  for (const { agentId } of agents) if (await mayRoute(agentId, manager)) return []
  const reason = `no member can route: none is a model, and none declares ${clientRoutingExtension}`
  const effect = `unless one answers with {"delegate": …}, "${scheduler.defaultAgentId}" answers every message`
  return [`Team "${id}": ${reason}; ${effect}`]
}

async function mayRoute(id: string, manager: AgentManager): Promise<boolean> {
  const agent = manager.get(id)
  if (!agent) return false
  if (agent.kind === 'remote' || acceptsTools(agent)) return true
  return supportsRouting(await manager.info(id))
}

/**
 * The models that a team with a limit in money reaches, itself or by teams in it, and that have no price: a file's
 * author hardly meant them to count as nothing. Remote members may tell what they cost, which cannot be known before.
 */
export async function unpricedWarnings(
  { id, budget, agents }: TeamConfig,
  manager: AgentManager,
  prices: ModelPrices,
): Promise<readonly string[]> {
  if (budget?.maxCostUsd === undefined) return []
  const models = new Set<string>()
  for (const agent of reached(agents, manager)) {
    const { model } = agent.kind === 'model' ? (await agent.info()).metadata : {}
    if (model !== undefined && !findPrice(prices, model)) models.add(model)
  }
  return [...models].map(
    (model) =>
      `Team "${id}": the model "${model}" has no price, so max_cost_usd does not count it; add [prices."${model}"]`,
  )
}

/** The members of a team, and those of teams among them. */
function* reached(members: TeamConfig['agents'], manager: AgentManager): Generator<Agent> {
  for (const { agentId } of members) {
    const agent = manager.get(agentId)
    if (!agent) continue
    if (isTeam(agent)) yield* reached(agent.config.agents, agent.manager)
    else yield agent
  }
}
