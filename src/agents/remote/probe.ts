import { A2AClient } from '../../client/client.ts'
import type { Health } from '../agent.ts'
import type { A2AAgentConfig } from '../config.ts'
import { isWithoutCard, toBase, toClientAuth } from './connect.ts'
import { toMemberFault } from './faults.ts'

const probeMs = 5_000

/** Asks a remote for its card, past every cache and once: a health answer from memory would be worthless. */
export async function probe(config: A2AAgentConfig, name: string): Promise<Health> {
  const { endpoint, auth } = config
  const client = new A2AClient({
    serverUrl: toBase(endpoint),
    ...(auth && { auth: toClientAuth(auth) }),
    retry: { maxRetries: 0 },
  })
  const signal = AbortSignal.timeout(probeMs)
  try {
    await client.fetchAgentCard({ signal })
    return { healthy: true }
  } catch (error) {
    if (isWithoutCard(error) && toBase(endpoint) !== new URL(endpoint).href)
      return { healthy: true }
    const fault = signal.aborted
      ? new Error(`${name} did not answer in time`)
      : toMemberFault(name, error, signal)
    return { healthy: false, reason: fault instanceof Error ? fault.message : 'unknown' }
  } finally {
    await client.close()
  }
}
