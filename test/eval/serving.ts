import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import type { Message } from '../../src/protocol/types.ts'
import { createServer, listen, type ServerOptions } from '../../src/server/index.ts'

/** Serves an agent over real HTTP until the test ends; gives its URL. */
export async function serveAgent(
  agent: Agent,
  options: Omit<ServerOptions, 'agents'> = {},
): Promise<string> {
  const server = await createServer({ agents: [agent], ...options })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  onTestFinished(() => listening.close())
  return listening.url
}

/** A request as a peer got it. */
export interface PeerRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** Of a JSON-RPC request: its method and params. */
  readonly rpc: string
  readonly params: PeerParams
}

/** What tests look at in the params of a request. */
export interface PeerParams {
  readonly message: Message
  readonly id: string
}

/** What a peer answers: a JSON-RPC result, a JSON-RPC error, or raw HTTP. */
export type PeerAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }
  | { readonly status: number; readonly body: string }
  | 'silence'

/** A peer that we did not write: raw HTTP and JSON, card included. */
export interface Peer {
  readonly url: string
  readonly requests: PeerRequest[]
  /** How many connections were opened. */
  connections(): number
}

/** How a peer presents itself. */
export interface PeerOptions {
  readonly card?: (url: string) => object
  /** Answers the card request otherwise than with the card. */
  readonly cardStatus?: number
}

/** Serves JSON-RPC by a function of the request; "silence" never answers. */
export async function servePeer(
  answer: (request: PeerRequest, index: number) => PeerAnswer,
  { card = v10Card, cardStatus }: PeerOptions = {},
): Promise<Peer> {
  const requests: PeerRequest[] = []
  let calls = 0
  let connections = 0
  const server = createHttpServer(async (incoming, outgoing) => {
    let body = ''
    for await (const chunk of incoming) body += chunk
    const rpc = body ? JSON.parse(body) : {}
    const { method = '', url = '', headers } = incoming
    const request = { method, path: url, headers, rpc: rpc.method ?? '', params: rpc.params }
    requests.push(request)
    const send = (status: number, text: string): void => {
      outgoing.writeHead(status, { 'content-type': 'application/json' }).end(text)
    }
    if (method === 'GET') return send(cardStatus ?? 200, JSON.stringify(card(base)))
    const given = answer(request, calls++)
    if (given === 'silence') return
    if ('status' in given) return send(given.status, given.body)
    send(200, JSON.stringify({ jsonrpc: '2.0', id: rpc.id, ...given }))
  })
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  const base = `http://127.0.0.1:${port}`
  return { url: base, requests, connections: () => connections }
}

/** A card of 1.0 whose interface is not the endpoint itself. */
export function v10Card(url: string): object {
  return {
    name: 'Peer',
    description: 'A peer',
    version: '1.0.0',
    supportedInterfaces: [
      { url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  }
}

/** A message of the agent as 1.0 writes it. */
export function agentSays(text: string, contextId = 'ctx-abc123'): PeerAnswer {
  return { result: { message: agentMessage([{ text }], contextId) } }
}

/** A message of the agent with these parts. */
export function agentMessage(parts: readonly object[], contextId = 'ctx-abc123'): object {
  return { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts, contextId }
}
