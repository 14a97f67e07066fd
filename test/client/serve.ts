import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A request as a test server got it. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** What a test server answers: a status, headers and a body, or full control of the response. */
export type Answer =
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | ((response: ServerResponse) => void)

/** A real HTTP server for one test; it is closed when the test ends. */
export interface TestServer {
  readonly url: string
  readonly received: readonly Received[]
  close(): Promise<void>
}

/** Listens, on a free port where none is given, and answers as asked. */
export async function serve(
  answer: (request: Received) => Answer | Promise<Answer>,
  port = 0,
): Promise<TestServer> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { method = '', url: path = '', headers } = request
    const message = { method, path, headers, body }
    received.push(message)
    write(response, await answer(message))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  onTestFinished(close)
  const address = server.address() as AddressInfo // a listening TCP server has one
  return { url: `http://127.0.0.1:${address.port}`, received, close }
}

function write(response: ServerResponse, answer: Answer): void {
  if (typeof answer === 'function') {
    answer(response)
    return
  }
  const { status = 200, headers = {}, body } = answer
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(body === undefined ? '' : JSON.stringify(body))
}
