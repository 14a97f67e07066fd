import type { Agent, Health } from '../agents/agent.ts'
import type { Clock } from '../shared/clock.ts'

const maxHealthMs = 5_000
/** Whoever asks: an agent is asked no more often than this. */
const maxAgeMs = 2_000

/** An answer that is on its way or was given lately. */
interface Checked {
  readonly at: number
  readonly health: Promise<Health>
}

/** Asks an agent how it is. */
export type HealthCheck = (agent: Agent) => Promise<Health>

/** Asks agents how they are; an answer stands for a while, for everyone. */
export function createHealthCheck(clock: Clock): HealthCheck {
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
