import { onTestFinished } from 'vitest'
import { isStreamed } from '../../src/bindings/http.ts'
import { rpc10, type Wild } from '../contracts/binding.ts'
import type { Replica } from './scene.ts'

/** A stream of a task's events, read as they come. */
export interface Subscription {
  /** The events so far, with their places in the log. */
  readonly seen: readonly SeenEvent[]
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>
}

interface SeenEvent {
  readonly id: number
  readonly event: Wild
}

/** Subscribes to a task at one replica: from the beginning, or after an event. */
export async function subscribe(
  { server }: Replica,
  taskId: string,
  lastEventId?: number,
): Promise<Subscription> {
  const request = rpc10.write('SubscribeToTask', { id: taskId })
  if (!request) throw new Error('There is no such request')
  const last = lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }
  const { body } = await server.handle({ ...request, headers: { ...request.headers, ...last } })
  if (!isStreamed(body)) throw new Error(`No stream: ${String(body)}`)
  const frames = body[Symbol.asyncIterator]()
  onTestFinished(async () => void (await frames.return?.()))
  const seen: SeenEvent[] = []
  async function read(): Promise<void> {
    for (let frame = await frames.next(); !frame.done; frame = await frames.next())
      for (const [, id, data] of String(frame.value).matchAll(
        /^id: (\d+)\n(?:.+\n)*?data: (.*)$/gm,
      ))
        seen.push({ id: Number(id), event: JSON.parse(data ?? '').result })
  }
  return { seen, ended: read() }
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
