import { askBoth, type Cell } from './cell.ts'
import type { Installed } from './place.ts'
import { type Side, start } from './side.ts'
import { at, message, stream } from './wire.ts'

const total = 40
const before = 10

/** Breaks a stream off and takes it up again. */
export const streamsCell: Cell = {
  name: 'resume',
  question: `A stream of ${total} chunks breaks after ${before} and is taken up 200 ms later: what comes?`,
  how: 'SubscribeToTask with the Last-Event-ID of the last event, where events have ids',
  run: (place) => askBoth((side) => resumed(place, side)),
}

async function resumed(place: Installed, side: Side): Promise<string> {
  const server = await start(place, side)
  let [taskId, lastId, seen] = ['', undefined as string | undefined, 0]
  for await (const { id, data } of stream(
    server.url,
    'SendStreamingMessage',
    message(`stream ${total}`),
  )) {
    taskId ||= String(
      at(data, 'result', 'task', 'id') ?? at(data, 'result', 'statusUpdate', 'taskId') ?? '',
    )
    taskId ||= String(at(data, 'result', 'artifactUpdate', 'taskId') ?? '')
    lastId = id ?? lastId
    if (JSON.stringify(data).includes('chunk ') && ++seen === before) break
  }
  await new Promise((resolve) => setTimeout(resolve, 200))
  const headers = lastId === undefined ? {} : { 'last-event-id': lastId }
  const updates: number[] = []
  let snapshot = 0
  for await (const { data } of stream(server.url, 'SubscribeToTask', { id: taskId }, headers)) {
    const numbers = [...JSON.stringify(data).matchAll(/chunk (\d+);/g)].map(([, n]) => Number(n))
    if (at(data, 'result', 'task') === undefined) updates.push(...numbers)
    else snapshot = numbers.length
  }
  await server.kill()
  return describe({ lastId, updates, snapshot })
}

interface Resumed {
  readonly lastId: string | undefined
  readonly updates: readonly number[]
  readonly snapshot: number
}

function describe({ lastId, updates, snapshot }: Resumed): string {
  const ids = lastId === undefined ? 'events have no id' : 'events have ids'
  const first = updates[0] ?? total
  const inOrder = updates.every((n, i) => n === first + i)
  if (snapshot > 0)
    return `${ids}; the whole task again (${snapshot} chunks), then each of the ${updates.length} others`
  const missed = first - before
  const order = inOrder && missed === 0 ? 'once and in order' : `from chunk ${first} on`
  return `${ids}; the ${updates.length} missing ones, ${order}`
}
