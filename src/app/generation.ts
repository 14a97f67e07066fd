import type { Agent, AgentEvent, AgentReply } from '../agents/agent.ts'
import { A2AError } from '../protocol/errors.ts'
import { isAsyncIterable } from '../shared/async.ts'
import type { Logger } from '../shared/log.ts'
import type { Roster } from './roster.ts'

/**
 * The agents of one reading of a file. A later reading takes their place; turns that run keep the agents they began
 * with, and when the last of them has ended the agents are closed.
 */
export interface Generation {
  readonly agents: readonly Agent[]
  get(id: string): Agent | undefined
  /** Gives way to the next reading; turns that have not begun go to it once these agents are closed. */
  retire(next: Generation): void
  /** Closes the agents at once. Idempotent. */
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
    return {
      info: () => agent.info(),
      resumable: agent.resumable ?? false,
      ...(agent.definition !== undefined && { definition: agent.definition }),
      health: async () => (await agent.health?.()) ?? { healthy: true },
      ...(agent.cancel && { cancel: async (task) => agent.cancel?.(task) }),
      process(message, turn) {
        if (closing) return heirOf(id).process(message, turn)
        running++
        return afterwards(
          () => agent.process(message, turn),
          () => {
            running--
            closeIfOver()
          },
        )
      },
    }
  }

  function heirOf(id: string): Agent {
    const heir = next?.get(id)
    if (!heir) throw new A2AError('agentUnavailable', `${id} is no longer served`)
    return heir
  }

  const agents = new Map(roster.agents.map((agent) => [served.get(agent) ?? '', hold(agent)]))
  return {
    agents: [...agents.values()],
    get: (id) => agents.get(id),
    retire(later) {
      next = later
      closeIfOver()
    },
    close,
  }
}

/** A turn's reply, and a call when nothing more comes of it. */
function afterwards(work: () => AgentReply, done: () => void): AgentReply {
  let reply: AgentReply
  try {
    reply = work()
  } catch (error) {
    done()
    throw error
  }
  if (isAsyncIterable(reply)) return eventsThen(reply, done)
  if (reply instanceof Promise) return reply.finally(done)
  done()
  return reply
}

async function* eventsThen(
  events: AsyncIterable<AgentEvent>,
  done: () => void,
): AsyncGenerator<AgentEvent> {
  try {
    yield* events
  } finally {
    done()
  }
}
