import type { HttpHandler, HttpReply } from '../bindings/http.ts'
import { toA2AError } from '../protocol/errors.ts'
import type { Mount } from './mount.ts'
import type { ServerParts } from './parts.ts'
import { refusedPage, type Visitors } from './visitors.ts'

const uncached = { 'content-type': 'application/json', 'cache-control': 'no-store' }
const alive: HttpReply = { status: 200, headers: uncached, body: '{"status":"alive"}' }

/**
 * Makes the page that says how the server is: 503 if an agent or the store cannot do its work, and while it closes. That
 * much is for anyone; what is the matter with whom is for callers whom the server knows. With `?live=1` only: the process runs.
 */
export function createHealthPage(
  parts: Pick<ServerParts, 'store' | 'checkHealth' | 'readCluster' | 'retryMs'>,
  mounts: ReadonlyMap<string, Mount>,
  visitors: Visitors,
): HttpHandler {
  const { store, checkHealth: check } = parts

  async function page(isKnown: boolean): Promise<HttpReply> {
    const draining = parts.retryMs() !== undefined
    const cluster = isKnown ? await parts.readCluster() : undefined
    const agents = await Promise.all(
      [...mounts.values()].map(async ({ id, identity, agent }) => {
        const { name } = identity.known()
        return { id, name, ...(await check(agent())) }
      }),
    )
    const storeHealth = store.health()
    const healthy = !draining && storeHealth.writable && agents.every((agent) => agent.healthy)
    const body = JSON.stringify({
      status: healthy ? 'healthy' : 'unhealthy',
      protocol: 'A2A',
      agent: agents[0]?.name ?? '',
      ...(draining && { draining }),
      ...(isKnown && { agents, store: storeHealth }),
      ...(cluster && { cluster }),
    })
    return { status: healthy ? 200 : 503, headers: uncached, body }
  }

  return async (request) => {
    if (new URLSearchParams(request.query).has('live')) return alive
    try {
      const visitor = await visitors.find(request)
      return await page(visitor !== undefined)
    } catch (thrown) {
      return refusedPage(toA2AError(thrown))
    }
  }
}
