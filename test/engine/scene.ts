import type { Agent } from '../../src/agents/agent.ts'
import { Committer } from '../../src/engine/commit.ts'
import { Engine } from '../../src/engine/engine.ts'
import { TurnQueue } from '../../src/engine/turn-queue.ts'
import type { Call } from '../../src/protocol/operations.ts'
import type {
  Message,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
} from '../../src/protocol/types.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Scope, Store } from '../../src/store/store.ts'
import { Hub } from '../../src/streams/hub.ts'

/** An engine with all that it stands on. */
export interface EngineScene {
  readonly engine: Engine
  readonly store: Store
  readonly hub: Hub
  readonly committer: Committer
  readonly scope: Scope
}

/** Makes an engine for one agent; another over the same store is what a restart makes. */
export function createEngineFor(
  agent: Agent,
  options: Partial<ConstructorParameters<typeof Engine>[0]> & { readonly slots?: number } = {},
): EngineScene {
  const { store = createMemoryStore(), slots = 64, ...rest } = options
  const hub = new Hub(store)
  const committer = new Committer(store)
  const queue = new TurnQueue({ slots })
  const engine = new Engine({ agent, agentId: 'a', store, committer, hub, queue, ...rest })
  return { engine, store, hub, committer, scope: engine.scopeOf(undefined, undefined) }
}

/** A request to send a text. */
export function message(text: string, more: Partial<Message> = {}): SendMessageRequest {
  const messageId = crypto.randomUUID()
  return { message: { messageId, role: 'ROLE_USER', parts: [{ text }], ...more } }
}

/** Sends a text and waits for its answer. */
export async function ask(
  engine: Engine,
  text: string,
  more: Partial<Message> & { readonly call?: Call } = {},
): Promise<SendMessageResponse> {
  const { call = {}, ...rest } = more
  const sent = await engine.send(message(text, rest), call)
  return sent.answer.wait()
}

/** Sends a text and gives the task that it made, without waiting for more. */
export async function begin(
  engine: Engine,
  text: string,
  more: Partial<Message> & { readonly call?: Call } = {},
): Promise<Task> {
  const { call = {}, ...rest } = more
  const sent = await engine.send(message(text, rest), call)
  return sent.task()
}

/** The task of an answer. */
export function taskOf(answer: SendMessageResponse): Task {
  if ('task' in answer) return answer.task
  throw new Error('The answer is a message')
}

/** The events of a stream until it ends. */
export async function eventsOf(
  stream: AsyncIterable<readonly { readonly event: StreamResponse }[]>,
): Promise<StreamResponse[]> {
  const list: StreamResponse[] = []
  for await (const batch of stream) for (const { event } of batch) list.push(event)
  return list
}

/** The texts of all artifacts' parts, joined. */
export function textOf(task: Task): string {
  const parts = (task.artifacts ?? []).flatMap((artifact) => artifact.parts)
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}
