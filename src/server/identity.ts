import type { Agent } from '../agents/agent.ts'
import { renderCard } from '../protocol/card.ts'
import { idempotencyExtension, traceExtension } from '../protocol/extensions.ts'
import type { AgentInfo } from '../protocol/profile.ts'
import type { AgentCard, AgentExtension } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import type { Auth } from './auth.ts'
import { interfacesAt } from './card.ts'
import type { ServerOptions } from './options.ts'

/** Who a served agent is: its info and its card, each asked for rarely and remembered. */
export interface Identity {
  info(): Promise<AgentInfo>
  /** The info as it was last read. */
  known(): AgentInfo
  card(): AgentCard | Promise<AgentCard>
  /** The URL below which it answers. */
  base(): string
  /** The agent or the base URL has changed. */
  refresh(): void
}

/** How long an agent's info is taken as it was: a team's members may come and go. */
const freshMs = 10_000

/** Extensions that every card of ours declares. */
const ours: readonly AgentExtension[] = [
  {
    uri: idempotencyExtension,
    description: 'A send with the same Idempotency-Key gives the same task',
  },
  { uri: traceExtension, description: 'Shows what happens inside a task to callers that ask' },
]

/** A call can only activate what the card declares. An agent that keeps its tasks itself has no log of ours. */
function offered({ trace = true }: ServerOptions, { dispatch }: Agent): readonly AgentExtension[] {
  if (dispatch) return []
  return trace ? ours : ours.filter(({ uri }) => uri !== traceExtension)
}

/** Keeps an agent's identity. */
export function createIdentity(options: {
  agent(): Agent
  /** What the agent said of itself when it was asked for its id. */
  readonly info: AgentInfo
  base(): string
  readonly auth: Auth
  readonly clock: Clock
  readonly server: ServerOptions
}): Identity {
  const { auth, clock, server } = options
  let { info } = options
  let card: AgentCard | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  /** Grows when agent or address change: what was read before is then of somebody else. */
  let generation = 0

  async function read(): Promise<void> {
    const begun = generation
    const next = await options.agent().info()
    if (card && begun === generation && JSON.stringify(next) === JSON.stringify(info)) {
      readAt = clock.elapsed()
      return
    }
    const plain = render(next)
    const signatures = await server.signCard?.(plain)
    if (begun !== generation) return read()
    readAt = clock.elapsed()
    info = next
    card = signatures?.length ? { ...plain, signatures } : plain
  }

  function render(next: AgentInfo): AgentCard {
    const all = interfacesAt(options.base())
    const agent = options.agent()
    return renderCard(next, {
      interfaces: server.interfaces?.(all) ?? all,
      streaming: server.streaming ?? true,
      pushNotifications: Boolean(server.pushNotifications) && !agent.dispatch,
      extendedAgentCard: server.extendedCard !== undefined,
      securitySchemes: auth.securitySchemes,
      ...(auth.securityRequirements.length > 0 && {
        securityRequirements: auth.securityRequirements,
      }),
      extensions: [...offered(server, agent), ...(server.extensions ?? [])],
    })
  }

  /** What is known answers at once, even when it is due for another look. */
  function look(): Promise<void> | undefined {
    if (clock.elapsed() - readAt < freshMs) return undefined
    reading ??= read().finally(() => {
      reading = undefined
    })
    if (!card) return reading
    reading.catch(() => {})
    return undefined
  }

  return {
    async info() {
      await look()
      return info
    },
    known: () => info,
    base: options.base,
    card() {
      const waiting = look()
      if (card && !waiting) return card
      return (waiting ?? read()).then(() => {
        if (!card) throw new Error('The agent did not say who it is')
        return card
      })
    },
    refresh() {
      generation++
      readAt = Number.NEGATIVE_INFINITY
      card = undefined
    },
  }
}
