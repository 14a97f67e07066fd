import { type ReadonlySignal, signal } from '@preact/signals'
import { isInterrupted, isTerminal } from '../../src/protocol/task.ts'
import type { Message, Part, Task } from '../../src/protocol/types.ts'
import { type Clock, systemClock } from '../../src/shared/clock.ts'
import { ChatExchange, type ExchangeView } from './exchange.ts'
import { newMessageId } from './ids.ts'
import type { Peer } from './peer.ts'
import { sentenceOf } from './server.ts'

/** A conversation with one agent: its tasks in order, each drawn at most once per frame. */
export interface ChatConversation {
  readonly contextId: ReadonlySignal<string | undefined>
  readonly views: ReadonlySignal<readonly ExchangeView[]>
  readonly fault: ReadonlySignal<string>
  /** Shows these tasks of the context, oldest first; those that run are followed. */
  load(contextId: string, taskIds: readonly string[]): Promise<void>
  /** Says something: the answer to what was asked, else something new. */
  say(parts: readonly Part[]): Promise<void>
  /** Stops what runs. */
  cancel(): Promise<void>
  /** Takes up what was lost. */
  resume(): void
  close(): void
}

/** What a conversation works with. */
interface ConversationOptions {
  readonly peer: Peer
  /** Has the views drawn soon: once per frame, however often it is asked. */
  readonly schedule: (draw: () => void) => () => void
  readonly clock?: Clock
}

/** Makes a conversation; it is new until something is loaded. */
export function createConversation(options: ConversationOptions): ChatConversation {
  const { peer, schedule, clock = systemClock } = options
  const contextId = signal<string | undefined>(undefined)
  const views = signal<readonly ExchangeView[]>([])
  const fault = signal('')
  let exchanges: readonly ChatExchange[] = []

  const changed = schedule(() => {
    views.value = exchanges.map(({ view }) => view)
    contextId.value ??= views.value.map(contextOf).find((id) => id !== undefined)
  })

  function add(): ChatExchange {
    const exchange = new ChatExchange({ peer, clock, changed })
    exchanges = [...exchanges, exchange]
    return exchange
  }

  async function guarded(work: () => Promise<unknown>): Promise<void> {
    fault.value = ''
    await work().catch((thrown: unknown) => {
      fault.value = sentenceOf(thrown)
    })
  }

  return {
    contextId,
    views,
    fault,
    load: (id, taskIds) =>
      guarded(async () => {
        contextId.value = id
        await Promise.all(taskIds.map((taskId) => add().follow(taskId)))
      }),
    say: (parts) =>
      guarded(async () => {
        const last = exchanges.at(-1)
        const task = last?.view.task
        const goesOn = task && isInterrupted(task.status.state)
        const message = toUserMessage(parts, contextId.value, goesOn ? task : undefined)
        await (last && goesOn ? last : add()).send(message)
      }),
    cancel: () =>
      guarded(() => Promise.all(exchanges.filter(isOpen).map((exchange) => exchange.cancel()))),
    resume() {
      for (const exchange of exchanges) if (exchange.view.phase === 'lost') void exchange.resume()
    },
    close() {
      for (const exchange of exchanges) exchange.close()
    },
  }
}

/** A message of the user; with a task it is the answer to the task's question. */
export function toUserMessage(
  parts: readonly Part[],
  contextId: string | undefined,
  task?: Pick<Task, 'id' | 'contextId'>,
): Message {
  return {
    messageId: newMessageId(),
    role: 'ROLE_USER',
    parts,
    ...(contextId !== undefined && { contextId }),
    ...(task && { taskId: task.id, contextId: task.contextId }),
  }
}

function contextOf({ task, answer }: ExchangeView): string | undefined {
  return task?.contextId ?? answer?.contextId
}

function isOpen({ view: { task, phase } }: ChatExchange): boolean {
  return task ? !isTerminal(task.status.state) : phase !== 'idle'
}
