import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A wire that can be cut: everything passes until somebody does. */
export interface Proxy {
  readonly url: string
  /** Breaks every connection; new ones pass again. */
  cut(): void
}

/** Opens a wire to a server; it ends with the test. */
export async function useProxy(target: string): Promise<Proxy> {
  const { port } = new URL(target)
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    return socket.on('error', () => {}) // it is cut on purpose
  }
  const server = createServer((near) => {
    const far = keep(connect(Number(port), '127.0.0.1'))
    keep(near).pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    cut()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The wire has no port')
  return { url: `http://127.0.0.1:${address.port}`, cut }
}
