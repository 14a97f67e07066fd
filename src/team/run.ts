import type { Agent, AgentEvent, AgentInfo, ContextValues, Turn } from '../agents/agent.ts'
import { notApproved, type Tool } from '../agents/tools.ts'
import { A2AError } from '../protocol/errors.ts'
import { isInterrupted } from '../protocol/task.ts'
import type { Json, JsonObject, Message, Part } from '../protocol/types.ts'
import { isPromiseLike, type LinkedSignal, withSignal } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { Budget, type BudgetRules } from './budget.ts'
import { type BudgetConfig, budgetRows, type TeamConfig } from './config.ts'
import type { TeamGuards } from './guards.ts'
import type { AgentManager } from './manager.ts'
import { Memory } from './memory.ts'
import { createTeamOutput, type Release, type TeamOutput } from './output.ts'
import { type TraceEntry, toEntry } from './reply.ts'
import type { CallRules, MemberReply } from './schedulers/scheduler.ts'

/** One run of a team: everything that a scheduler and its delegations share, and nothing that outlives the turn. */
export interface Run {
  readonly config: TeamConfig
  readonly turn: Turn
  /** Fires on cancel, at the end of the run's time, and when the caller's stream is given up. */
  readonly link: LinkedSignal
  readonly manager: AgentManager
  readonly clock: Clock
  readonly budget: Budget
  readonly memory: Memory
  readonly output: TeamOutput
  /** What each member was asked and answered in this run. */
  readonly exchanges: Map<string, readonly Message[]>
  /** Members that were left before their end, until they have cleaned up. */
  readonly left: Promise<unknown>[]
  /** The hops of the messages that this run sends. */
  readonly hops: readonly string[]
  /** Between 0 and 1, for jitter. */
  random(): number
  readonly exposeMembers: boolean
  readonly guards: TeamGuards
}

/** One call to a member, as a scheduler wants it. */
export interface Delegation {
  /** Unique within the run and the same whenever the run is repeated. */
  readonly name: string
  readonly agentId: string
  readonly message: Message
  readonly rules?: CallRules
  /** When the member's words go to the caller; not at all if absent. */
  readonly live?: Release | undefined
  /** The member speaks with the team's caller and so sees their conversation. */
  readonly facesCaller?: boolean | undefined
  /** The member does not see what else it was asked in this run. */
  readonly alone?: boolean | undefined
  /** The member as this delegation wants it, such as with answers that fit a schema. */
  readonly wrap?: ((agent: Agent) => Agent) | undefined
  /** It is made while another delegation is under way; that one's reply may be repeated without it. */
  readonly within?: boolean
  /** Offered to a member that takes tools. */
  readonly tools?: readonly Tool[]
  /** Give a failure back as a reply in the state FAILED instead of failing the run. */
  readonly tolerant?: boolean | undefined
  /** The JSON Schema that the member is to answer by; the caller checks the answer. */
  readonly answerSchema?: JsonObject
}

/** What all runs of a team share. */
export type TeamParts = Pick<
  Run,
  'config' | 'manager' | 'clock' | 'random' | 'exposeMembers' | 'guards'
> & {
  readonly budgetRules: BudgetRules
  /** The name under which this team appears among the hops. */
  readonly hop: string
}

/** What a run begins with, and where its events go. */
export type RunStart = Pick<Run, 'link' | 'left'> & {
  readonly message: Message
  readonly emit: (event: AgentEvent) => Promise<void>
}

/** Makes the run of one turn. */
export function createRun(turn: Turn, team: TeamParts, start: RunStart): Run {
  const { config, manager, clock, random, exposeMembers, guards, budgetRules, hop } = team
  checkDepth(turn, hop, config.budget)
  const memory = new Memory(turn, start.message)
  const budget = new Budget(turn, budgetRules, memory)
  return {
    config,
    turn,
    link: start.link,
    manager,
    clock,
    budget,
    memory,
    output: createTeamOutput(turn, budget, start.emit),
    exchanges: new Map(),
    left: start.left,
    hops: [...turn.hops, hop],
    random,
    exposeMembers,
    guards,
  }
}

function checkDepth(turn: Turn, hop: string, budget: BudgetConfig = {}): void {
  const maxDepth = budget.maxDepth ?? budgetRows.maxDepth.default
  if (turn.hops.includes(hop))
    throw new A2AError('unsupportedOperation', 'The message has come back to a team it passed')
  if (turn.hops.length > maxDepth)
    throw new A2AError('unsupportedOperation', `The message has passed more than ${maxDepth} teams`)
}

/** A message of the team to a member, with these parts. Written out: one is made per hop. */
export function toMember(run: Run, parts: readonly Part[]): Message {
  return { messageId: newId(), contextId: run.turn.contextId, role: 'ROLE_USER', parts }
}

/** An answer of the team's own. */
export function answered(run: Run, parts: readonly Part[]): MemberReply {
  return { state: 'TASK_STATE_COMPLETED', message: run.turn.reply(parts) }
}

/** Writes into the task's trace what a repeated run would come to again. */
export function traceOnce(run: Run, key: string, entry: TraceEntry): void {
  if (run.memory.recall(key).length > 0) return
  run.memory.remember(key, { state: 'TASK_STATE_COMPLETED' })
  traceRun(run, entry)
}

/** Writes into the task's trace. */
export function traceRun(run: Run, entry: TraceEntry, thrown?: unknown): void {
  run.turn.trace(toEntry(entry), thrown)
}

/**
 * A decision that may come out differently each time: it is made once, by a durable step, and remembered over questions to
 * the user. What it gives is plain JSON. One that does not come to its end is left when the run is.
 */
export async function decide<T>(
  run: Run,
  key: string,
  make: (values: ContextValues) => Promise<T> | T,
): Promise<T> {
  const known = run.memory.recall(key).at(-1)?.metadata?.decision
  if (known !== undefined) return known as T // what the same decision was in an earlier turn
  const decision = await run.turn.step(key, async (values) => {
    const making: unknown = make(values)
    const isOpen = isPromiseLike(making)
    const made = isOpen ? await withSignal(Promise.resolve(making), run.link.signal) : making
    return made as Json // a step refuses what is not
  })
  run.memory.remember(key, { state: 'TASK_STATE_COMPLETED', metadata: { decision } })
  return decision as T // what `make` gave, now or before a crash
}

/** Asks the user and stops the run; when the user has answered, the repeated run gets the answer here. */
export function askUser(run: Run, name: string, question: readonly Part[]): Message {
  const key = `${name}:user`
  const known = run.memory.recall(key).at(-1)
  if (known?.message && !isInterrupted(known.state)) return known.message
  const answer = run.memory.takeAnswer(key)
  if (answer) {
    run.memory.remember(key, { state: 'TASK_STATE_COMPLETED', message: answer })
    return answer
  }
  const reply: MemberReply = known ?? {
    state: 'TASK_STATE_INPUT_REQUIRED',
    message: run.turn.reply(question),
  }
  if (!known) run.memory.remember(key, reply)
  throw new Suspension(key, reply)
}

/** What the members say of themselves, in the team's order, without one of them. */
export async function peersOf(run: Run, except: string): Promise<readonly AgentInfo[]> {
  const ids = run.config.agents.map((member) => member.agentId).filter((id) => id !== except)
  return Promise.all(ids.map((id) => run.manager.info(id)))
}

/** Ends a run because the user did not approve; the team turns it into a rejected task. */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  constructor(reason: string = notApproved) {
    super(reason)
  }
}

/** What an approval asks, and where what is neither a yes nor a no goes. */
export interface ApprovalRules {
  readonly question: string
  /** The step that works again with it; the user is asked again if absent. */
  readonly target: string | undefined
  /** How often, before the run is refused. */
  readonly maxRounds: number
}

/** Sends a run back to an earlier step with what the user said; the list that has the step goes on from there. */
export class Feedback extends Error {
  override readonly name = 'Feedback'
  readonly approval: ApprovalRules
  readonly text: string

  constructor(approval: ApprovalRules, text: string) {
    super(`Going back to step ${approval.target}`)
    this.approval = approval
    this.text = text
  }
}

/** Stops a run until the user has answered; the team turns it into the task's question. */
export class Suspension extends Error {
  override readonly name = 'Suspension'
  readonly key: string
  readonly reply: MemberReply

  constructor(key: string, reply: MemberReply) {
    super(`Waiting for the user at ${key}`)
    this.key = key
    this.reply = reply
  }
}

/** Whether a run stops for the user: to ask, or because the user did not approve. */
export function stopsForUser(thrown: unknown): boolean {
  return thrown instanceof Suspension || thrown instanceof Refusal
}
