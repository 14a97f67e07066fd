import type { Agent, Health } from '../agents/agent.ts'
import type { HttpReply } from '../bindings/http.ts'
import type { Store } from '../store/store.ts'

/** An agent with the id and name that it is served under. */
export interface NamedAgent {
  readonly id: string
  readonly name: string
  readonly agent: Agent
}

const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
const alive: HttpReply = { status: 200, headers, body: '{"status":"alive"}' }
const maxWaitMs = 5_000

/** The answer of `/health?live=1`: the process runs. */
export function liveness(): HttpReply {
  return alive
}

/** The answer of `/health`: 503 if an agent or the store cannot do its work (C-27). */
export async function healthOf(agents: readonly NamedAgent[], store: Store): Promise<HttpReply> {
  const states = await Promise.all(
    agents.map(async ({ id, name, agent }) => ({ id, name, ...(await ask(agent)) })),
  )
  const storeHealth = store.health()
  const healthy = storeHealth.writable && states.every((state) => state.healthy)
  const body = JSON.stringify({
    status: healthy ? 'healthy' : 'unhealthy',
    protocol: 'A2A',
    agent: agents[0]?.name ?? '',
    agents: states,
    store: storeHealth,
  })
  return { status: healthy ? 200 : 503, headers, body }
}

/** An agent that does not answer in time, or at all, is not healthy. Why it failed stays inside. */
async function ask(agent: Agent): Promise<Health> {
  if (!agent.health) return { healthy: true }
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<Health>((resolve) => {
    timer = setTimeout(() => resolve({ healthy: false, reason: 'no answer in time' }), maxWaitMs)
  })
  try {
    return await Promise.race([agent.health(), late])
  } catch {
    return { healthy: false, reason: 'the health check failed' }
  } finally {
    clearTimeout(timer)
  }
}
