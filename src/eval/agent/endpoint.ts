import { bearerAuth } from '../../client/auth.ts'
import { A2AClient } from '../../client/client.ts'
import type { HttpClient } from '../../client/http.ts'
import { createHttp } from '../../client/node.ts'
import { tellOnce } from '../../client/withhold.ts'
import type { Rules } from '../../network/rules.ts'
import type { A2AError } from '../../protocol/errors.ts'
import type { AgentCard } from '../../protocol/types.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import { A2AAuthError, A2ADiscoveryError, toEvalError } from '../base/errors.ts'
import { createCollector, type MetricsCollector } from '../metrics/collector.ts'
import type { ProtocolMetrics } from '../metrics/metrics.ts'
import type { A2AConfig } from './config.ts'

/** The agent under test as a place: its card, and connections that all simulations of a run share. */
export interface Endpoint {
  readonly config: A2AConfig
  /** Gives the card, fetched once. */
  discover(signal?: AbortSignal): Promise<AgentCard>
  /** Gives a client whose requests the collector measures; it speaks the wire that the card offers. */
  client(collector: MetricsCollector): Promise<A2AClient>
  /** Gives the measurements of the discovery, which belongs to no task. */
  discoveryMetrics(): readonly ProtocolMetrics[]
  /** Closes the connections. */
  close(): Promise<void>
}

/** How an endpoint is asked. */
export interface EndpointOptions {
  /** Where it tells what it does. */
  readonly log: Logger
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Between polls of an agent that does not stream, in milliseconds; 250 if absent. */
  readonly pollIntervalMs?: number
  /**
   * Where requests may go if a stranger named the endpoint; if the user did, as a client decides.
   * @internal
   */
  readonly rules?: Rules
}

/** Opens the way to the agent under test. Nothing is sent before `discover`. */
export function openEndpoint(config: A2AConfig, options: EndpointOptions): Endpoint {
  const { log, clock = systemClock, pollIntervalMs = 250, rules } = options
  const http: HttpClient = createHttp({
    verifySsl: config.verifySsl,
    ...(rules ? { rules } : { named: [config.endpoint] }),
  })
  const collector = createCollector({ endpoint: config.endpoint, clock })
  const tell = tellOnce(log) // once for the run, not for each simulation
  const clientOf = (measuring: MetricsCollector, card?: AgentCard): A2AClient =>
    new A2AClient({
      serverUrl: config.endpoint,
      send: measuring.wrap(http.send),
      timeouts: { requestMs: config.timeout * 1000, idleMs: config.timeout * 1000 },
      retry: { maxRetries: 2 },
      pollIntervalMs,
      clock,
      log,
      ...(card && { card }),
      onCredentialsWithheld: tell,
      ...(config.credentialOrigins && { credentialOrigins: config.credentialOrigins }),
      ...(config.authToken !== undefined && { auth: bearerAuth(config.authToken) }),
    })

  async function fetchCard(signal?: AbortSignal): Promise<AgentCard> {
    const exchange = collector.begin()
    try {
      const card = await clientOf(collector).fetchAgentCard({ ...(signal && { signal }) })
      exchange.end({ source: 'estimate' }, undefined)
      log.debug({ card: card.name, streaming: card.capabilities.streaming }, 'agent discovered')
      return card
    } catch (error) {
      exchange.fail(error, undefined)
      throw toDiscoveryError(error, config.endpoint)
    }
  }

  let card: Promise<AgentCard> | undefined
  const discover = (signal?: AbortSignal): Promise<AgentCard> => (card ??= fetchCard(signal))
  return {
    config,
    discover,
    client: async (measuring) => clientOf(measuring, await discover()),
    discoveryMetrics: collector.records,
    close: http.close,
  }
}

function toDiscoveryError(error: unknown, endpoint: string): A2AError {
  const known = toEvalError(error)
  if (known instanceof A2AAuthError) return known
  return new A2ADiscoveryError(`No agent card at ${endpoint}: ${known.message}`, { cause: error })
}
