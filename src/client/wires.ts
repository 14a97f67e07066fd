import { urlFault } from '../network/url.ts'
import type { Dispatch, Middleware } from '../protocol/call.ts'
import { chooseInterface, toMajorMinor } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { AgentCard, AgentInterface } from '../protocol/types.ts'
import { isConnectFailure } from './faults.ts'
import { JsonRpcTransport, RestTransport, type Transport } from './transport.ts'

/** The wires that a client speaks, by binding and version. */
const wires: Readonly<Record<string, (url: string, tenant: Tenant) => Transport>> = {
  'JSONRPC 1.0': (url, tenant) => new JsonRpcTransport(url, { dialect: '1.0', ...tenant }),
  'JSONRPC 0.3': (url, tenant) => new JsonRpcTransport(url, { dialect: '0.3', ...tenant }),
  'HTTP+JSON 1.0': (url, tenant) => new RestTransport(url, { dialect: '1.0', ...tenant }),
  'HTTP+JSON 0.3': (url, tenant) => new RestTransport(url, { dialect: '0.3', ...tenant }),
}

interface Tenant {
  readonly tenant?: string
}

/** What a client accepts of a card's offers. */
interface WireOptions {
  readonly bindings?: readonly string[]
  readonly versions?: readonly string[]
  /** Leave out interfaces without TLS, since the card came over it. */
  readonly onlyTls?: boolean
}

/** Opens a wire, with credentials or without. */
type Connect = (transport: Transport) => Dispatch

/**
 * A Dispatch over the interfaces of a card: the first that both sides speak, and the next when no connection comes
 * about or the version is refused (specification §5.2, §8.3.2). It stays with the one that answered.
 *
 * @throws A2AError `versionNotSupported` where no interface fits.
 */
export function openWires(card: AgentCard, connect: Connect, options: WireOptions = {}): Dispatch {
  const offers = usableInterfaces(card, options)
  if (offers.length === 0)
    throw new A2AError('versionNotSupported', `No interface of ${card.name} speaks our wires`)
  return firstThatConnects(offers.map((offer) => open(offer, connect)))
}

/** The interfaces that fit, in the order in which they are tried. */
function usableInterfaces(card: AgentCard, options: WireOptions): readonly AgentInterface[] {
  const { bindings = ['JSONRPC', 'HTTP+JSON'], versions = ['1.0', '0.3'], onlyTls } = options
  let left = card.supportedInterfaces.filter(
    ({ url }) => urlFault(url) === undefined && (!onlyTls || url.startsWith('https:')),
  )
  const order: AgentInterface[] = []
  for (;;) {
    const choice = chooseInterface({ ...card, supportedInterfaces: left }, { bindings, versions })
    if (!choice) return order
    if (wires[wireName(choice)]) order.push(choice)
    left = left.filter((offer) => offer !== choice)
  }
}

function open({ url, tenant, ...offer }: AgentInterface, connect: Connect): Dispatch {
  const transport = wires[wireName(offer)]?.(url, tenant ? { tenant } : {})
  if (!transport) throw new A2AError('internal', `No wire for ${wireName(offer)}`)
  return withoutTenant(connect(transport))
}

function wireName({
  protocolBinding,
  protocolVersion,
}: Pick<AgentInterface, 'protocolBinding' | 'protocolVersion'>): string {
  return `${protocolBinding.toUpperCase()} ${toMajorMinor(protocolVersion)}`
}

/** Every request carries exactly the tenant of its interface, or none (specification §8.3.2): none of its own. */
const withoutTenant: Middleware = (next) => (name, request, call) => {
  if (request.tenant === undefined) return next(name, request, call)
  const { tenant: _, ...rest } = request
  return next(name, rest as typeof request, call) // a request stays one without its tenant, which is optional
}

function firstThatConnects(dispatches: readonly Dispatch[]): Dispatch {
  let current = 0
  return async (name, request, call) => {
    for (let tries = 1; ; tries++) {
      const index = current
      const dispatch = dispatches[index] ?? notThere
      try {
        return await dispatch(name, request, call)
      } catch (error) {
        if (tries >= dispatches.length || !wasNotHeard(error)) throw error
        // Calls that fail together move on together, not one place each.
        if (current === index) current = (index + 1) % dispatches.length
      }
    }
  }
}

function wasNotHeard(error: unknown): boolean {
  return (
    isConnectFailure(error) || (error instanceof A2AError && error.code === 'versionNotSupported')
  )
}

const notThere: Dispatch = () => Promise.reject(new A2AError('internal', 'No interface to use'))
