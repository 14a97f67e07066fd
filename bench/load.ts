/**
 * The load, in a process of its own. Keeps connections busy with one prepared request each over plain sockets, so that
 * the client's cost does not blur the server's. Told a `LoadOrder`, it sends, then tells how long each answer took.
 */
import { connect, type Socket } from 'node:net'
import { type Workload, type WorkloadName, workloadOf } from './workloads.ts'

/** What to send: so many requests, or as many as fit into the time. */
export interface LoadOrder {
  readonly port: number
  readonly workload: WorkloadName
  readonly requests: number
  readonly connections: number
  readonly seconds: number
}

/** How it went. */
export interface LoadResult {
  /** How long each answer took, in microseconds. */
  readonly micros: readonly number[]
  readonly failed: number
  readonly seconds: number
}

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (result) => process.send?.(result),
    (error) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function run({ port, workload, requests, ...bounds }: LoadOrder): Promise<LoadResult> {
  const { expects = '', ...asked }: Workload = workloadOf(workload)
  const request = toBytes(asked)
  const micros: number[] = []
  let left = requests
  let failed = 0
  const startedAt = performance.now()
  const endsAt = startedAt + bounds.seconds * 1_000
  async function work(): Promise<void> {
    let socket = idle.get(port)?.pop() ?? (await open(port))
    while (left-- > 0 && performance.now() < endsAt) {
      if (socket.destroyed) socket = await open(port)
      const before = performance.now()
      if (!(await exchange(socket, request, expects))) failed++
      micros.push(Math.round((performance.now() - before) * 1_000))
    }
    if (!socket.destroyed) keep(port, socket)
  }
  await Promise.all(Array.from({ length: bounds.connections }, work))
  return { micros, failed, seconds: (performance.now() - startedAt) / 1_000 }
}

/** Connections outlive an order: to open them is not what is measured. */
const idle = new Map<number, Socket[]>()

function keep(port: number, socket: Socket): void {
  const sockets = idle.get(port) ?? []
  idle.set(port, sockets)
  sockets.push(socket)
}

/** A server that has ended closes its connections; another one may get its port. */
function forget(port: number, socket: Socket): void {
  const sockets = idle.get(port) ?? []
  idle.set(
    port,
    sockets.filter((one) => one !== socket),
  )
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.setNoDelay(true)
    socket.once('error', reject)
    socket.once('close', () => forget(port, socket))
  })
}

/** Sends the request and reads one whole answer; false if it is not a success. */
function exchange(socket: Socket, request: Buffer, expects: string): Promise<boolean> {
  return new Promise((resolve) => {
    let text = ''
    const end = (right: boolean): void => {
      socket.off('data', onData)
      socket.off('close', onClose)
      resolve(right)
    }
    const onClose = (): void => end(false)
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      if (!isWhole(text)) return
      const isRight = text.startsWith('HTTP/1.1 200') && !text.includes('"error"')
      end(isRight && text.includes(expects))
    }
    socket.on('data', onData)
    socket.on('close', onClose)
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

function toBytes({ path, headers, body }: Omit<Workload, 'expects'>): Buffer {
  const lines = Object.entries({
    ...headers,
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  const head = lines.map(([key, value]) => `${key}: ${value}`).join('\r\n')
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n${body}`)
}
