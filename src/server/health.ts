import type { Agent, Health } from '../agents/agent.ts'
import type { HttpHandler, HttpReply } from '../bindings/http.ts'
import { toA2AError } from '../protocol/errors.ts'
import type { Clock } from '../shared/clock.ts'
import type { Mount } from './mount.ts'
import type { ServerParts } from './parts.ts'
import { refusedPage, type Visitors } from './visitors.ts'

const uncached = { 'content-type': 'application/json', 'cache-control': 'no-store' }
const alive: HttpReply = { status: 200, headers: uncached, body: '{"status":"alive"}' }
const maxHealthMs = 5_000
/** Whoever asks: an agent is asked no more often than this. */
const maxAgeMs = 2_000

/**
 * Makes the page that says how the server is: 503 if an agent or the store cannot do its work. That much is for anyone;
 * what is the matter with whom is for callers whom the server knows. With `?live=1` only: the process runs.
 */
export function createHealthPage(
  { store, clock }: Pick<ServerParts, 'store' | 'clock'>,
  mounts: ReadonlyMap<string, Mount>,
  visitors: Visitors,
): HttpHandler {
  const check = createHealthCheck(clock)

  async function page(isKnown: boolean): Promise<HttpReply> {
    const agents = await Promise.all(
      [...mounts.values()].map(async ({ id, identity, agent }) => {
        const { name } = identity.known()
        return { id, name, ...(await check(agent())) }
      }),
    )
    const storeHealth = store.health()
    const healthy = storeHealth.writable && agents.every((agent) => agent.healthy)
    const body = JSON.stringify({
      status: healthy ? 'healthy' : 'unhealthy',
      protocol: 'A2A',
      agent: agents[0]?.name ?? '',
      ...(isKnown && { agents, store: storeHealth }),
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

/** An answer that is on its way or was given lately. */
interface Checked {
  readonly at: number
  readonly health: Promise<Health>
}

/** Asks agents how they are; an answer stands for a while, for everyone. */
function createHealthCheck(clock: Clock): (agent: Agent) => Promise<Health> {
  const checked = new WeakMap<Agent, Checked>()
  return (agent) => {
    const last = checked.get(agent)
    if (last && clock.elapsed() - last.at < maxAgeMs) return last.health
    const health = healthOf(agent, clock)
    checked.set(agent, { at: clock.elapsed(), health })
    return health
  }
}

/** An agent that does not answer in time, or at all, is not healthy. Why it failed stays inside. */
async function healthOf(agent: Agent, clock: Clock): Promise<Health> {
  if (!agent.health) return { healthy: true }
  let callOff = (): void => {}
  const late = new Promise<Health>((resolve) => {
    const reason = 'no answer in time'
    callOff = clock.after(maxHealthMs, () => resolve({ healthy: false, reason }))
  })
  try {
    return await Promise.race([agent.health(), late])
  } catch {
    return { healthy: false, reason: 'the health check failed' }
  } finally {
    callOff()
  }
}
