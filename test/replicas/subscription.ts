import { onTestFinished } from 'vitest'
import { type HttpChunk, isStreamed } from '../../src/bindings/http.ts'
import { rpc10, type Wild } from '../contracts/binding.ts'
import type { Replica } from './scene.ts'

/** A stream of a task's events, read as they come. */
export interface Subscription {
  /** The events so far, with their places in the log. */
  readonly seen: readonly SeenEvent[]
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>
}

/** An event and its place in the log. */
export interface SeenEvent {
  readonly id: number
  readonly event: Wild
}

/** Subscribes to a task at one replica: from the beginning, or after an event. */
export async function subscribe(
  replica: Replica,
  taskId: string,
  lastEventId?: number,
): Promise<Subscription> {
  const events = await eventsOf(replica, taskId, lastEventId)
  onTestFinished(async () => void (await events.return?.(undefined)))
  const seen: SeenEvent[] = []
  async function read(): Promise<void> {
    for await (const one of events) seen.push(one)
  }
  return { seen, ended: read() }
}

/** Opens a stream of a task's events at one replica. @throws Error where there is none. */
export async function eventsOf(
  { server }: Pick<Replica, 'server'>,
  taskId: string,
  lastEventId?: number,
): Promise<AsyncGenerator<SeenEvent, void>> {
  const request = rpc10.write('SubscribeToTask', { id: taskId })
  if (!request) throw new Error('There is no such request')
  const last = lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }
  const { body } = await server.handle({ ...request, headers: { ...request.headers, ...last } })
  if (!isStreamed(body)) throw new Error(`No stream: ${String(body)}`)
  return framesOf(body)
}

async function* framesOf(body: AsyncIterable<HttpChunk>): AsyncGenerator<SeenEvent, void> {
  for await (const frame of body)
    for (const [, id, data] of String(frame).matchAll(/^id: (\d+)\n(?:.+\n)*?data: (.*)$/gm))
      yield { id: Number(id), event: JSON.parse(data ?? '').result }
}

/** The text of the response as a watcher has put it together: a chunk that does not append begins it anew. */
export function textOf({ seen }: Subscription): string {
  let text = ''
  for (const { event } of seen) {
    const { artifact = event.task?.artifacts?.[0], append } = event.artifactUpdate ?? {}
    const piece = artifact?.parts.map((part: Wild) => part.text).join('') ?? ''
    if (artifact) text = append ? text + piece : piece
  }
  return text
}

/** The state that a watcher saw last. */
export function lastStateOf({ seen }: Subscription): string | undefined {
  return seen.map(({ event }) => (event.task ?? event.statusUpdate)?.status.state).findLast(Boolean)
}
