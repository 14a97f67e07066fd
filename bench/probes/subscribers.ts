/**
 * Many subscribers of one task, in a process of its own. Told a `SubscribeOrder`, opens that many streams and waits for
 * the first event on each; told `count`, waits until each has a second one, or two seconds, and tells how many got it once.
 */
import { connect } from 'node:net'
import { workloadOf } from '../workloads.ts'

/** Whom to subscribe to. */
export interface SubscribeOrder {
  readonly port: number
  readonly taskId: string
  readonly subscribers: number
}

const events: number[] = []

process.on('message', (order: SubscribeOrder | 'count') => {
  const work = order === 'count' ? settled() : openAll(order)
  void work.then(() => process.send?.({ once: events.filter((count) => count === 2).length }))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function openAll({ port, taskId, subscribers }: SubscribeOrder): Promise<void> {
  const { path, headers, body } = workloadOf('subscribe')
  const text = JSON.stringify({ ...JSON.parse(body), params: { id: taskId } })
  const head = Object.entries({ ...headers, host: '127.0.0.1', 'content-type': 'application/json' })
  const request = `POST ${path} HTTP/1.1\r\n${head.map((h) => h.join(': ')).join('\r\n')}\r\ncontent-length: ${text.length}\r\n\r\n${text}`
  for (let from = 0; from < subscribers; from += 100)
    await Promise.all(Array.from({ length: 100 }, (_, i) => open(port, request, from + i)))
}

function open(port: number, request: string, index: number): Promise<void> {
  return new Promise((resolve, reject) => {
    events[index] = 0
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    socket.once('error', reject)
    socket.once('data', (chunk) => {
      const head = chunk.toString('latin1', 0, 100)
      if (!head.startsWith('HTTP/1.1 200')) reject(new Error(`No stream was opened: ${head}`))
    })
    socket.on('data', (chunk) => {
      events[index] = (events[index] ?? 0) + chunk.toString('latin1').split('data: ').length - 1
      if (events[index] === 1) resolve()
    })
  })
}

/** Waits for the event everywhere, then a little for a second copy that must not come. */
async function settled(): Promise<void> {
  const endsAt = performance.now() + 2_000
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50))
  while (events.some((count) => count < 2) && performance.now() < endsAt) await pause()
  await pause()
}
