import type { Agent } from '../agents/agent.ts'
import { digestOf } from '../shared/ids.ts'
import { createMount, type Mount, type NamedAgent } from './mount.ts'
import type { ServerParts } from './parts.ts'

/** The agents of a server, in their order: the first answers at the root, the others below `/agents`. */
interface Mounts {
  readonly served: ReadonlyMap<string, Mount>
  /**
   * Serves these agents from now on; tasks that run keep the agent they began with.
   * @throws Error if there are none, or two with one id.
   */
  set(agents: readonly Agent[]): Promise<void>
  /** The agent with this id, or the first. @throws Error if there is none. */
  get(id?: string): Mount
  /** The server's URL has changed, and with it every card. */
  refresh(): void
  /** Takes no more messages and lets turns end until the deadline, those of agents no longer served too. */
  close(deadlineMs: number): Promise<void>
}

/** Keeps the agents of a server, which is reached at `url`. */
export function createMounts(parts: ServerParts, url: () => string): Mounts {
  const served = new Map<string, Mount>()
  /** Agents that are no longer served; their tasks still run, and one that comes back finds them. */
  const retired = new Map<string, Mount>()

  function baseOf(id: string): string {
    const isFirst = served.keys().next().value === id
    return isFirst ? url() : `${url()}/agents/${encodeURIComponent(id)}`
  }

  function refresh(): void {
    for (const mount of served.values()) mount.identity.refresh()
  }

  return {
    served,
    refresh,
    async set(agents) {
      const named = await nameAgents(agents)
      for (const [id, mount] of served) retired.set(id, mount)
      served.clear()
      for (const one of named) {
        const { id } = one
        const known = retired.get(id)
        known?.setAgent(one)
        served.set(id, known ?? createMount(parts, one, () => baseOf(id)))
        retired.delete(id)
      }
      // The first agent's address is the root, so a change of order changes cards.
      refresh()
    },
    get(id) {
      const mount = id === undefined ? served.values().next().value : served.get(id)
      if (!mount) throw new Error(`There is no agent ${id}`)
      return mount
    },
    async close(deadlineMs) {
      const all = [...served.values(), ...retired.values()]
      await Promise.all(all.map((mount) => mount.close(deadlineMs)))
    },
  }
}

async function nameAgents(agents: readonly Agent[]): Promise<readonly NamedAgent[]> {
  if (agents.length === 0) throw new Error('A server needs at least one agent')
  const named = await Promise.all(
    agents.map(async (agent) => {
      const info = await agent.info()
      const build = await digestOf(agent.definition ?? JSON.stringify(info))
      return { id: info.id, agent, info, build }
    }),
  )
  const twice = named.find(({ id }, index) => named.findIndex((one) => one.id === id) !== index)
  if (twice) throw new Error(`Two agents have the id ${twice.id}`)
  return named
}
