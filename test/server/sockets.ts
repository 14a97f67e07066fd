import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { ListenOptions, ServerOptions } from '../../src/server/index.ts'
import { createServer, type Listening, listen, type Server } from '../../src/server/index.ts'
import { createScriptedAgent, type ScriptedAgent } from '../conformance/agent.ts'

/** A server on a real port. */
export interface Served {
  readonly server: Server
  readonly listening: Listening
  readonly agent: ScriptedAgent
  readonly url: string
}

/** Serves the scripted agent on a free port for one test. */
export async function serveAgent(
  options: Partial<ServerOptions> & { readonly listen?: Partial<ListenOptions> } = {},
): Promise<Served> {
  const { listen: where, ...rest } = options
  const agent = createScriptedAgent()
  const server = await createServer({ agents: [agent], timeouts: { shutdownMs: 0 }, ...rest })
  const listening = await listen(server, { port: 0, host: '127.0.0.1', ...where })
  onTestFinished(() => listening.close())
  return { server, listening, agent, url: `http://127.0.0.1:${listening.port}` }
}

/** A JSON-RPC 1.0 request as `fetch` wants it. */
export function rpc(method: string, params: unknown, id: unknown = 1): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
  }
}

/** The params that send a text. */
export function text(words: string, more: object = {}): object {
  const messageId = crypto.randomUUID()
  return { message: { messageId, role: 'ROLE_USER', parts: [{ text: words }], ...more } }
}

/** Writes bytes to a port and gives back all that comes until the other side closes. */
export function exchange(port: number, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let received = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
  })
}
