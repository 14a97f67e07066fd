import type { Agent } from '../agents/agent.ts'
import { type AgentRoute, agentRoutes } from '../bindings/routes.ts'
import type { ServedAgent } from '../operations/service.ts'
import { renderCard } from '../protocol/card.ts'
import { idempotencyExtension, traceExtension } from '../protocol/extensions.ts'
import type { AgentInfo } from '../protocol/profile.ts'
import type { AgentCard, AgentExtension, AgentInterface } from '../protocol/types.ts'
import type { Auth } from './auth.ts'
import { createInputCheck } from './input-schemas.ts'
import type { ServerOptions } from './options.ts'
import type { ServerParts } from './parts.ts'

/** The URI of RANCH's JSON-RPC as a custom binding; standard clients skip it (specification §5.8). */
const ranchBinding = 'urn:corral:bindings:ranch'
/** The URI of 1.0-rc's slash-named JSON-RPC as a custom binding. */
const rcBinding = 'urn:corral:bindings:jsonrpc-1.0-rc'

/**
 * Every way to reach an agent mounted at a base URL, the preferred first, 1.0 before 0.3.
 * The one of 1.0 over JSON-RPC has a URL of its own: a request without a version is 0.3 at the root, but a client of the
 * release candidate that follows the card names none.
 */
function interfacesAt(base: string): readonly AgentInterface[] {
  const at = (route: AgentRoute): string => base + agentRoutes[route].paths[0]
  return [
    { url: at('rc'), protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: base, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: at('rpc'), protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: base, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
    { url: at('ranch'), protocolBinding: ranchBinding, protocolVersion: '0.3' },
    { url: at('rc'), protocolBinding: rcBinding, protocolVersion: '1.0' },
  ]
}

/** Who a served agent is: its info and its card, each asked for rarely and remembered. */
export interface Identity extends ServedAgent {
  info(): Promise<AgentInfo>
  /** The info as it was last read. */
  known(): AgentInfo
  /** The URL below which it answers, on the server's own URL or on this one. */
  base(server?: string): string
  /** The public card as seen from the server's own URL or from this one. */
  cardAt(server?: string): Promise<AgentCard>
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
  readonly base: Identity['base']
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
  /** The card at other bases. */
  const elsewhere = createFewCards((base) =>
    sign(cardOf(info, { ...source, base: () => base }, { auth, server }), server),
  )

  async function read(): Promise<void> {
    const begun = generation
    const next = await source.agent().info()
    if (card && begun === generation && JSON.stringify(next) === JSON.stringify(info)) {
      readAt = clock.elapsed()
      return
    }
    const fresh = await sign(cardOf(next, source, { auth, server }), server)
    if (begun !== generation) return read()
    readAt = clock.elapsed()
    info = next
    card = fresh
    elsewhere.clear()
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

  async function cardAt(at?: string): Promise<AgentCard> {
    const own = await currentCard()
    const base = source.base(at)
    return base === source.base() ? own : elsewhere.get(base)
  }

  return {
    async info() {
      await look()
      return info
    },
    cardAt,
    known: () => info,
    base: source.base,
    card: currentCard,
    ...(extendedCard && {
      extendedCard: async (caller, at) => extendedCard(await cardAt(at), caller),
    }),
    openExtendedCard,
    inputModes: () => enforcedModes(info, server),
    checkInput: createInputCheck(() => info.details?.skills),
    refresh() {
      generation++
      readAt = Number.NEGATIVE_INFINITY
      card = undefined
      elsewhere.clear()
    },
  }
}

/** Bases at which a card is remembered; a server has few, and more are somebody's invention. */
const maxBases = 16

/** Remembers the latest few of the cards that it makes. */
function createFewCards(make: (base: string) => Promise<AgentCard>): {
  get(base: string): Promise<AgentCard>
  clear(): void
} {
  const cards = new Map<string, Promise<AgentCard>>()
  return {
    get(base) {
      const known = cards.get(base)
      if (known) return known
      const made = make(base)
      const [oldest] = cards.keys()
      if (cards.size >= maxBases && oldest !== undefined) cards.delete(oldest)
      cards.set(base, made)
      // What could not be signed may be later.
      made.catch(() => cards.delete(base))
      return made
    },
    clear: () => cards.clear(),
  }
}

async function sign(card: AgentCard, { signCard }: ServerOptions): Promise<AgentCard> {
  const signatures = await signCard?.(card)
  return signatures?.length ? { ...card, signatures } : card
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
