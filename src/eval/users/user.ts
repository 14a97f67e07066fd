import type { JsonObject } from '../../protocol/types.ts'
import type { ConversationMessage, SpokenMessage, ToolMessage } from '../domain/conversation.ts'
import type { DomainPrompts, ToolDescriptor } from '../domain/environment.ts'
import type { EvalTask } from '../domain/task.ts'
import type { TokenCount } from '../metrics/tokens.ts'

/** The kinds of simulated user. */
export type UserKind = 'scripted' | 'llm' | 'a2a' | 'replay' | 'human' | 'golden'

/** What ends a conversation when it stands in the user's words. */
export const stopTokens: readonly string[] = ['###STOP###', '###TRANSFER###', '###OUT-OF-SCOPE###']

/** The user of one simulation. */
export interface User {
  /** What the user does next, given what the agent said or what the user's own tools gave back. */
  next(input: SpokenMessage | readonly ToolMessage[], signal: AbortSignal): Promise<SpokenMessage>
  /** Sees every message of the conversation as it happens. */
  observe?(message: ConversationMessage): void
  /** Things that a reader of the score should know. */
  warnings?(): readonly string[]
  /** Tokens of a model that plays the user. */
  usage?(): TokenCount
}

/** What a user is told at the start of a simulation. */
export interface UserBriefing {
  readonly task: EvalTask
  readonly trial: number
  readonly seed: number
  /** The user's own tools. */
  readonly tools: readonly ToolDescriptor[]
  /** What was said before the simulation begins; nothing if absent. */
  readonly history?: readonly ConversationMessage[]
  /** The domain's own words, where it has some. */
  readonly prompts?: DomainPrompts | undefined
}

/** A way to play the user; each simulation starts its own. Scores of different kinds are never mixed. */
export interface UserSimulator {
  /** Which kind it is, for the results. */
  readonly kind: UserKind
  /** The model or endpoint behind it, for the results. */
  readonly model?: string
  /** Further members of its requests to a model, for the results. */
  readonly args?: JsonObject
  /** Why this user cannot play a task; undefined when it can. */
  refuses(task: EvalTask): string | undefined
  /** Begins to play the user of one simulation. */
  start(briefing: UserBriefing): User
  /** Releases what it holds. */
  close?(): Promise<void>
}

/** Whether the user's words end the conversation. */
export function isStop(content: string | null): boolean {
  return content !== null && stopTokens.some((token) => content.includes(token))
}

/** The scenario as a model reads it. */
export function scenarioText(task: EvalTask): string {
  const { persona, instructions } = task.user_scenario ?? { instructions: '' }
  const lines = typeof instructions === 'string' ? [instructions] : describe(instructions)
  return [...(typeof persona === 'string' ? [`Persona: ${persona}`] : []), ...lines].join('\n')
}

function describe(instructions: object): string[] {
  return Object.entries(instructions)
    .filter(([, value]) => value !== null && value !== '')
    .map(([key, value]) => `${key.replaceAll('_', ' ')}: ${value}`)
}
