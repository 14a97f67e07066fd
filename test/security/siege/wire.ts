import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'

/** Where the server is, and as whom an attacker comes. */
export interface Target {
  readonly port: number
  /** The address that the connection comes from; all of 127.0.0.0/8 is this machine. */
  readonly from: string
  readonly token?: string
}

/** An answer that was read whole. */
export interface Answer {
  readonly status: number
  readonly text: string
  readonly bytes: number
}

/** Posts a body; what goes wrong below HTTP is thrown. */
export function post(target: Target, path: string, body: string | Buffer): Promise<Answer> {
  return ask(target, { method: 'POST', path, body })
}

/** Gets a page; what goes wrong below HTTP is thrown. */
export function get(target: Target, path: string): Promise<Answer> {
  return ask(target, { method: 'GET', path, body: '' })
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly body: string | Buffer
}

function ask(target: Target, { method, path, body }: Asked): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: target.port,
        localAddress: target.from,
        method,
        path,
        headers: headersOf(target, Buffer.byteLength(body)),
        agent: false,
      },
      (incoming) => read(incoming).then(resolve, reject),
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Calls a 1.0 JSON-RPC method of an agent. */
export function call(
  target: Target,
  agent: string,
  { method, params }: { readonly method: string; readonly params: unknown },
): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return post(target, `/agents/${agent}`, body)
}

/** A message that says something. */
export function say(text: string, more: object = {}): object {
  return {
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
    ...more,
  }
}

/** Opens a connection, writes, and leaves it be. */
export function open({ port, from }: Target, text = ''): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from }, () => {
      if (text) socket.write(text)
      resolve(socket)
    })
    // What goes wrong once it is open is an attack's own matter.
    socket.on('error', reject)
  })
}

/** The head of a request, a POST if it is not said, as text. */
export function head(
  path: string,
  headers: Readonly<Record<string, string | number>>,
  method = 'POST',
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

/** The first status that a connection says; `closed` where it says none before it ends, `held` if neither happens. */
export function fate(socket: Socket, ended: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const done = (outcome: string): void => {
      resolve(outcome)
      socket.destroy()
    }
    socket.on('data', (chunk) => {
      const said = /^HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1'))
      if (said?.[1]) done(said[1])
    })
    socket.on('error', () => done('closed'))
    socket.on('close', () => done('closed'))
    if (ended.aborted) done('held')
    else ended.addEventListener('abort', () => done('held'))
  })
}

function headersOf({ token }: Target, length: number): Record<string, string | number> {
  return {
    'content-type': 'application/json',
    'content-length': length,
    'a2a-version': '1.0',
    connection: 'close',
    ...(token && { authorization: `Bearer ${token}` }),
  }
}

async function read(incoming: IncomingMessage): Promise<Answer> {
  let text = ''
  let bytes = 0
  for await (const chunk of incoming) {
    bytes += chunk.length
    text += chunk
  }
  return { status: incoming.statusCode ?? 0, text, bytes }
}
