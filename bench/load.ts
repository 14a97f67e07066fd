/**
 * The load, in a process of its own: `load.ts <port> <workload>`. Keeps connections busy with one prepared request
 * each over plain sockets, so that the client's cost does not blur the server's. Told `{ requests, connections }` it
 * sends that many, then tells how long each took.
 */
import { connect, type Socket } from 'node:net'
import { type WorkloadName, workloadOf } from './workloads.ts'

const [port = '', name = ''] = process.argv.slice(2)
// The names come from the benchmark's own tables.
const request = toBytes(workloadOf(name as WorkloadName))

process.on('message', ({ requests, connections }: { requests: number; connections: number }) => {
  run(requests, connections).then(
    (result) => process.send?.(result),
    (error) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function run(
  requests: number,
  connections: number,
): Promise<{ micros: number[]; failed: number; seconds: number }> {
  const micros: number[] = []
  let left = requests
  let failed = 0
  const startedAt = performance.now()
  async function work(): Promise<void> {
    const socket = await open()
    while (left-- > 0) {
      const before = performance.now()
      if (!(await exchange(socket))) failed++
      micros.push(Math.round((performance.now() - before) * 1_000))
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: connections }, work))
  return { micros, failed, seconds: (performance.now() - startedAt) / 1_000 }
}

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => resolve(socket))
    socket.setNoDelay(true)
    socket.once('error', reject)
  })
}

/** Sends the request and reads one whole answer; false if it is not a success. */
function exchange(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    let text = ''
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      if (!isWhole(text)) return
      socket.off('data', onData)
      resolve(text.startsWith('HTTP/1.1 200') && !text.includes('"error"'))
    }
    socket.on('data', onData)
    socket.write(request)
  })
}

function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return false
  const length = /content-length: (\d+)/i.exec(text.slice(0, head))?.[1]
  if (length !== undefined) return text.length >= head + 4 + Number(length)
  return text.endsWith('0\r\n\r\n')
}

function toBytes({
  path,
  headers,
  body,
}: {
  path: string
  headers: Readonly<Record<string, string>>
  body: string
}): Buffer {
  const lines = Object.entries({
    ...headers,
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\n${lines.map(([key, value]) => `${key}: ${value}`).join('\r\n')}\r\n\r\n${body}`,
  )
}
