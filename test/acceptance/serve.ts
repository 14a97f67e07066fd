import { onTestFinished } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import type { HttpReply } from '../../src/bindings/http.ts'
import { type Listening, listen } from '../../src/server/node/run.ts'
import type { ServerOptions } from '../../src/server/options.ts'
import { createServer, type Server } from '../../src/server/server.ts'
import { patient } from '../support/patient.ts'

/** A server that listens on a free port until the test ends. */
export interface Served extends Listening {
  readonly server: Server
}

/** Serves an agent, or options with agents, on a free port of this machine. */
export async function serve(what: Agent | ServerOptions): Promise<Served> {
  const options = 'agents' in what ? what : { agents: [what] }
  const server = await createServer(
    options.store?.feed ? { ...options, limits: { ...patient, ...options.limits } } : options,
  )
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  onTestFinished(() => listening.close())
  return { ...listening, server }
}

/** An agent that always says the same. */
export function scripted(text: string): Agent {
  return defineAgent({ name: 'Scripted' }, () => text)
}

/** The answer to a POST: status, headers and body. */
export interface Posted {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON: a test reads what it expects to be there, and what is not there fails its assertion. */
  readonly json: ReturnType<typeof JSON.parse>
}

/** Posts a body as it is. */
export async function post(
  url: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Posted> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return read(response)
}

/** Gets a page. */
export async function get(url: string, headers: Record<string, string> = {}): Promise<Posted> {
  return read(await fetch(url, { headers }))
}

async function read(response: Response): Promise<Posted> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') && text !== ''
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  }
}

/** Calls a JSON-RPC method with id 1 and gives back the whole envelope. */
export async function rpc(
  url: string,
  { method, params, headers = {} }: RpcCall,
): Promise<Posted['json']> {
  const body = JSON.stringify({ jsonrpc: '2.0', method, params, id: 1 })
  return (await post(url, body, headers)).json
}

/** A JSON-RPC request. */
export interface RpcCall {
  readonly method: string
  readonly params?: unknown
  readonly headers?: Record<string, string>
}

/** A reply in JSON. */
export function jsonReply(value: unknown): HttpReply {
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  }
}
