import type { Agent } from '../agents/agent.ts'
import type { ServedAgent } from '../operations/service.ts'
import { renderCard } from '../protocol/card.ts'
import { idempotencyExtension, traceExtension } from '../protocol/extensions.ts'
import type { AgentInfo } from '../protocol/profile.ts'
import type { AgentCard, AgentExtension } from '../protocol/types.ts'
import type { Auth } from './auth.ts'
import { interfacesAt } from './card.ts'
import { createInputCheck } from './input-schemas.ts'
import type { ServerOptions } from './options.ts'
import type { ServerParts } from './parts.ts'

/** Who a served agent is: its info and its card, each asked for rarely and remembered. */
export interface Identity extends ServedAgent {
  info(): Promise<AgentInfo>
  /** The info as it was last read. */
  known(): AgentInfo
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

/** Whose identity it is. */
interface IdentitySource {
  agent(): Agent
  /** What the agent said of itself when it was asked for its id. */
  readonly info: AgentInfo
  base(): string
}

/** Keeps an agent's identity. */
export function createAgentIdentity(
  { auth, clock, options: server }: Pick<ServerParts, 'auth' | 'clock' | 'options'>,
  source: IdentitySource,
): Identity {
  const { extendedCard, openExtendedCard = false } = server
  let { info } = source
  let card: AgentCard | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  /** Grows when agent or address change: what was read before is then another's. */
  let generation = 0

  async function read(): Promise<void> {
    const begun = generation
    const next = await source.agent().info()
    if (card && begun === generation && JSON.stringify(next) === JSON.stringify(info)) {
      readAt = clock.elapsed()
      return
    }
    const plain = cardOf(next, source, { auth, server })
    const signatures = await server.signCard?.(plain)
    if (begun !== generation) return read()
    readAt = clock.elapsed()
    info = next
    card = signatures?.length ? { ...plain, signatures } : plain
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

  function currentCard(): AgentCard | Promise<AgentCard> {
    const waiting = look()
    if (card && !waiting) return card
    return (waiting ?? read()).then(() => {
      if (!card) throw new Error('The agent did not say who it is')
      return card
    })
  }

  return {
    async info() {
      await look()
      return info
    },
    known: () => info,
    base: source.base,
    card: currentCard,
    ...(extendedCard && {
      extendedCard: async (caller) => extendedCard(await currentCard(), caller),
    }),
    openExtendedCard,
    inputModes: () => enforcedModes(info, server),
    checkInput: createInputCheck(() => info.details?.skills),
    refresh() {
      generation++
      readAt = Number.NEGATIVE_INFINITY
      card = undefined
    },
  }
}

function cardOf(
  info: AgentInfo,
  source: IdentitySource,
  { auth, server }: { readonly auth: Auth; readonly server: ServerOptions },
): AgentCard {
  const all = interfacesAt(source.base())
  const agent = source.agent()
  const { securitySchemes, securityRequirements } = auth
  return renderCard(info, {
    interfaces: server.interfaces?.(all) ?? all,
    streaming: server.streaming ?? true,
    pushNotifications: Boolean(server.pushNotifications) && !agent.dispatch,
    extendedAgentCard: server.extendedCard !== undefined,
    securitySchemes,
    ...(securityRequirements.length > 0 && { securityRequirements }),
    extensions: [...offered(server, agent), ...(server.extensions ?? [])],
  })
}

/** The media types that parts must have: the agent's own where it names them, unless the server says otherwise. */
function enforcedModes(
  { details }: AgentInfo,
  { enforceInputModes }: ServerOptions,
): readonly string[] | undefined {
  const named = details?.inputModes
  if (enforceInputModes === false || (enforceInputModes === undefined && !named)) return undefined
  return named ?? ['text/plain', 'application/json']
}
