import type { Agent, Health } from '../agents/agent.ts'
import { withPrices } from '../agents/prices.ts'
import { whenOver, wrapAgent } from '../agents/wrap.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Logger } from '../shared/log.ts'
import type { Roster } from './roster.ts'

/**
 * The agents of one reading of a file. A later reading takes their place; turns that run keep the agents they began
 * with, and when the last of them has ended the agents are closed.
 */
export interface Generation {
  readonly agents: readonly Agent[]
  readonly ids: readonly string[]
  get(id: string): Agent | undefined
  /** Whether an agent can answer now. */
  health(id: string): Promise<Health>
  /** Gives way to the next reading; turns that have not begun go to it once these agents are closed. */
  retire(next: Generation): void
  /** Closes the agents at once. May be called twice. */
  close(): Promise<void>
}

/** Makes the generation of a roster, which it closes. */
export function createGeneration(roster: Roster, log: Logger): Generation {
  const served = new Map<Agent, string>()
  for (const id of roster.manager.listIds()) {
    const agent = roster.manager.get(id)
    if (agent) served.set(agent, id)
  }
  let running = 0
  let next: Generation | undefined
  let closing: Promise<void> | undefined

  function close(): Promise<void> {
    closing ??= roster.close()
    return closing
  }

  function closeIfOver(): void {
    if (running > 0 || !next) return
    close().catch((err: unknown) => log.warn({ err }, 'Replaced agents did not close'))
  }

  function hold(agent: Agent): Agent {
    const id = served.get(agent) ?? ''
    const priced = roster.prices ? withPrices(agent, roster.prices) : agent
    return wrapAgent(priced, {
      process(ask, message, turn) {
        if (closing) return heirOf(id).process(message, turn)
        running++
        return whenOver(
          () => ask(turn),
          () => {
            running--
            closeIfOver()
          },
        )
      },
      // The roster closes its agents, and what went past `process` would not be counted among what runs.
      close: undefined,
      dispatch: undefined,
    })
  }

  function heirOf(id: string): Agent {
    const heir = next?.get(id)
    if (!heir) throw new A2AError('agentUnavailable', `${id} is no longer served`)
    return heir
  }

  const agents = new Map(roster.agents.map((agent) => [served.get(agent) ?? '', hold(agent)]))
  return {
    agents: [...agents.values()],
    ids: [...agents.keys()],
    health: (id) => roster.manager.health(id),
    get: (id) => agents.get(id),
    retire(later) {
      next = later
      closeIfOver()
    },
    close,
  }
}
