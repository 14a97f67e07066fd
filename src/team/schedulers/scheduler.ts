import type { AgentInfo } from '../../agents/agent.ts'
import type { Guards } from '../../agents/guards/guard.ts'
import type { Usage } from '../../protocol/extensions.ts'
import type { Artifact, Json, JsonObject, Message, Part, TaskState } from '../../protocol/types.ts'

/**
 * How a team works: which member gets which message next, until there is an answer. A scheduler is a value without
 * state: what a run needs to know stands in the run, so any number of runs share one scheduler.
 */
export interface Scheduler {
  /**
   * Works from the run's first message to the reply that is the team's answer. It is called again for the same run after
   * a crash and when the user has answered a question. What was asked and decided by then is remembered in the order of
   * the calls, so apart from `decide` a scheduler must do the same things in the same order.
   *
   * @throws A2AError to fail the task.
   */
  schedule(run: SchedulerRun): Promise<MemberReply>
}

/** One run of a team, as a scheduler of your own sees it. */
export interface SchedulerRun {
  /** The message that began the run. */
  readonly message: Message
  /** The members in the team's order. */
  readonly members: readonly TeamAgentConfig[]
  /** Fires on cancel, at the end of the run's time, and when nobody reads the answer any more. */
  readonly signal: AbortSignal
  /** What a member says of itself; one that cannot say has the metadata `unavailable`. */
  info(agentId: string): Promise<AgentInfo>
  /**
   * Asks a member. A durable step: the reply is in the task's log before anyone acts on it, and the member is not asked
   * again after a crash. Where the member asks the user, the run stops here and comes back with the member's answer.
   *
   * @throws A2AError when the member, its retries and its fallback have failed, or the budget is spent.
   */
  ask(
    agentId: string,
    message: Message | string | readonly Part[],
    options?: AskOptions,
  ): Promise<MemberReply>
  /**
   * Does several things at once, each with a run of its own, and gives their results in order. The first failure stops
   * the others; a question to the user waits until all have ended.
   */
  all<T>(works: readonly ((run: SchedulerRun) => Promise<T>)[]): Promise<readonly T[]>
  /** A decision that may come out differently each time, such as a model's or by chance: it is made once and remembered. */
  decide<T extends Json>(make: () => Promise<T> | T): Promise<T>
  /** Asks the user. The run stops here, and comes back with the answer. */
  askUser(question: string | readonly Part[]): Message
  /** Tells the caller what is going on, as a status text. */
  progress(text: string): Promise<void>
  /** An answer in the scheduler's own words. */
  reply(content: string | readonly Part[]): MemberReply
}

/** A member of a team. */
export interface TeamAgentConfig {
  /** The id under which the agent is registered. */
  readonly agentId: string
  /** What it does in the team, for supervisors and people. */
  readonly role?: string
  /** What it can do, beside what it says itself. */
  readonly capabilities?: readonly string[]
}

/** How a member is asked. */
export interface AskOptions extends CallRules {
  /** The member's words are the team's answer and go to the caller as they come: return this reply. */
  readonly live?: boolean
  /** The member speaks with the team's caller and so sees their conversation. */
  readonly facesCaller?: boolean
  /** Give a failure back as a reply in the state FAILED instead of failing the run. */
  readonly tolerant?: boolean
}

/** How a member is called. */
export interface CallRules<Id extends string = string> {
  /** How long the member may take at each try; as long as it likes if absent. */
  readonly timeoutSeconds?: number
  /** How long all of it may take, tries, fallback and restarts included; as long as it likes if absent. */
  readonly maxTaskSeconds?: number
  /** Further tries after a failure, 0 to 10; 0 by default, since agents retry their own connections. */
  readonly maxRetries?: number
  /** Who answers instead when all tries have failed. */
  readonly fallbackAgentId?: Id
  /** Guards on what the member is asked and on what it answers, beside its own. */
  readonly guards?: Guards<Id>
  /** An answer that ended like this is a failure, as any other: it is tried again, or the fallback answers. */
  readonly failOn?: readonly CutReason[]
}

/** Why a model's answer is not whole: it had no more tokens, or its service's filter cut it. */
export type CutReason = 'length' | 'content_filter'

/** What a member gave back, whole and as plain JSON. */
export interface MemberReply {
  /** COMPLETED, or the state in which the member stopped. */
  readonly state: TaskState
  /** The member's lone message, or its last status message. */
  readonly message?: Message
  /** What the member produced. */
  readonly artifacts?: readonly Artifact[]
  /** All metadata of the reply, later over earlier: routing decisions and token counts stand here. */
  readonly metadata?: JsonObject
  /** Who gave it, and where that member keeps its state; a fallback is not the member that was asked first. */
  readonly from?: { readonly agentId: string; readonly space: string }
  /** What the whole call used, failed tries included, at the prices of the time. */
  readonly used?: Usage
}

/**
 * A kind of scheduler that you bring. Its configs are plain data; functions in them are left out where they are
 * written down.
 */
export interface SchedulerDefinition<Config> {
  /** The team's mode, as cards and traces show it; not one of the built-in kinds. */
  readonly type: string
  /** What is wrong with a config, for the person who wrote it; undefined where it is sound. */
  validate?(config: Config): string | undefined
  /** The members that a config names: the team must have them. */
  members?(config: Config): readonly string[]
  /** The member that gets the caller's message first, where there is one. */
  first?(config: Config): string | undefined
  /** Makes the scheduler of one team. */
  create(config: Config): Scheduler
}

/** A scheduler of your own in a team's configuration: what `defineScheduler` makes. */
export interface OwnScheduler {
  readonly type: 'own'
  /** What the scheduler was given. */
  readonly config: unknown
  /** The kind that it is of. */
  readonly definition: SchedulerDefinition<unknown>
}

/**
 * Declares a kind of scheduler of your own. What it gives back makes the `scheduler` of a team from a config of this
 * kind; the team is checked when it is made.
 */
export function defineScheduler<Config>(
  definition: SchedulerDefinition<Config>,
): (config: Config) => OwnScheduler {
  return (config) => ({ type: 'own', config, definition })
}
