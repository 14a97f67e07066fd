import type { Message } from '../protocol/types.ts'
import type { Agent, AgentDetails, AgentInfo, AgentReply, Health, Turn } from './agent.ts'

/** A function that answers messages: plain, async, or an async generator of events. */
export type AgentFunction = (message: Message, turn: Turn) => AgentReply

/** Who a function agent is; only the name matters, the rest has sensible values. */
export interface AgentDescription extends AgentDetails {
  readonly name: string
  /** The name in lower case with dashes, if absent. */
  readonly id?: string
  readonly description?: string
  readonly abilities?: readonly string[]
  readonly metadata?: Readonly<Record<string, string>>
  /** Whether an interrupted turn may run again after a crash; false if absent. */
  readonly resumable?: boolean
  health?(): Promise<Health>
}

/** Declares an agent by a description and the function that answers. */
export function defineAgent(description: AgentDescription, process: AgentFunction): Agent {
  const info = toInfo(description)
  const { resumable = false, health } = description
  return { info: () => info, process, resumable, ...(health && { health }) }
}

function toInfo(description: AgentDescription): AgentInfo {
  const {
    name,
    id,
    description: words,
    abilities,
    metadata,
    resumable,
    health,
    ...details
  } = description
  return {
    id: id ?? toId(name),
    name,
    description: words ?? name,
    capabilities: [...new Set(abilities)],
    metadata: metadata ?? {},
    details,
  }
}

/** A name as an id: lower case, dashes for what is neither letter nor digit. */
export function toId(name: string): string {
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  return id || 'agent'
}
