import type { AgentEvent, Turn } from '../agents/agent.ts'
import { completedTaskWithText } from '../protocol/build.ts'
import type { AuthContext } from '../protocol/call.ts'
import { textOf } from '../protocol/task.ts'
import type { Message } from '../protocol/types.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { wait } from '../shared/retry.ts'
import type { CardDraft } from './card-info.ts'
import type { HandlerReply, MessageHandler } from './message-handler.ts'

/** How an EchoHandler echoes. */
export interface EchoOptions {
  /** Stands before the text; `Echo: ` if absent. */
  readonly prefix?: string
  /** The name in the card; `Echo Agent` if absent. */
  readonly name?: string
  /** How long the task works before it answers, in milliseconds; it answers at once if absent. */
  readonly completeAfterMs?: number
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
}

/** A message handler that answers `Echo: <text>`; for trying things out. */
export class EchoHandler implements MessageHandler {
  readonly #options: EchoOptions

  constructor(options: EchoOptions = {}) {
    this.#options = options
  }

  /** Answers with the message's own text. */
  handleMessage(message: Message, _auth: AuthContext | undefined, turn: Turn): HandlerReply {
    const { prefix = 'Echo: ', completeAfterMs } = this.#options
    const text = `${prefix}${textOf(message.parts)}`
    if (completeAfterMs === undefined) return { task: completedTaskWithText(message, text) }
    return this.#later(text, completeAfterMs, turn)
  }

  /** Gives its card. */
  agentCard(_baseUrl: string): CardDraft {
    const { name = 'Echo Agent' } = this.#options
    const skill = { id: 'echo', name: 'echo', description: 'Answers with what it was told' }
    return { name, description: skill.description, skills: [skill] }
  }

  /** Says that it streams. */
  supportsStreaming(): boolean {
    return true
  }

  async *#later(text: string, ms: number, turn: Turn): AsyncGenerator<AgentEvent> {
    yield turn.status('TASK_STATE_WORKING')
    await wait(this.#options.clock ?? systemClock, ms, turn.signal)
    yield turn.status('TASK_STATE_COMPLETED', text)
  }
}
