import type { Task } from '../../src/protocol/types.ts'
import { testCard } from './cards.ts'
import { type Answer, type Received, serve, type TestServer } from './serve.ts'

/** A JSON-RPC request as it came in. */
export interface RpcCall {
  readonly id: unknown
  readonly method: string
  readonly params: Record<string, unknown>
  readonly headers: Received['headers']
}

/** What a method answers: a result, or an HTTP answer of its own. */
export type Methods = Readonly<Record<string, (call: RpcCall) => unknown>>

/** A task of the test agent. */
export const doneTask: Task = {
  id: 't1',
  contextId: 'c1',
  status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-11-15T20:00:00.000Z' },
  artifacts: [{ artifactId: 'a', parts: [{ text: 'Echo: hi' }] }],
}

/** An answer that is sent as it is, instead of a result. */
export class Raw {
  readonly answer: Answer
  constructor(answer: Answer) {
    this.answer = answer
  }
}

/** An agent that speaks JSON-RPC 1.0 at `/rpc` by hand, and its card. */
export async function serveAgent(
  methods: Methods,
  card: Parameters<typeof testCard>[0] = {},
  port = 0,
): Promise<TestServer & { readonly calls: RpcCall[] }> {
  const calls: RpcCall[] = []
  const server: TestServer = await serve(({ path, body, headers }) => {
    if (path.startsWith('/.well-known/'))
      return {
        body: testCard({
          supportedInterfaces: [
            { url: `${server.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
          ],
          ...card,
        }),
      }
    const { id, method, params } = JSON.parse(body)
    const call = { id, method, params, headers }
    calls.push(call)
    const result = methods[method]?.(call)
    if (result instanceof Raw) return result.answer
    if (result === undefined)
      return { body: { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } } }
    return { body: { jsonrpc: '2.0', id, result } }
  }, port)
  return { ...server, calls }
}

/** A stream of JSON-RPC responses with numbered events; `drop` breaks the connection behind them. */
export function streamOf(
  { id }: RpcCall,
  events: readonly object[],
  { first = 1, drop = false }: { first?: number | undefined; drop?: boolean } = {},
): Raw {
  return new Raw((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [index, result] of events.entries()) {
      const data = JSON.stringify({ jsonrpc: '2.0', id, result })
      response.write(`id: ${first + index}\ndata: ${data}\n\n`)
    }
    if (drop) response.write(': gone\n\n', () => response.destroy())
    else response.end()
  })
}
