import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** An answer of the model: words, or calls of tools; or a refusal of its service; or a body of its own. */
export interface ModelAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly text?: string
  readonly calls?: readonly {
    readonly id: string
    readonly name: string
    readonly arguments: string
  }[]
}

/** What tests look at in a request to the model. */
export interface ModelRequest {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly [key: string]: unknown
}

/** An OpenAI-compatible service that answers whole completions in turn, on a real socket. */
export async function serveModel(answers: readonly ModelAnswer[]) {
  const requests: ModelRequest[] = []
  const headers: IncomingMessage['headers'][] = []
  const server = createServer(async (incoming, outgoing) => {
    let body = ''
    for await (const chunk of incoming) body += chunk
    const answer = answers[requests.length]
    requests.push(JSON.parse(body))
    headers.push(incoming.headers)
    const tool_calls = answer?.calls?.map(({ id, ...call }) => ({
      id,
      type: 'function',
      function: call,
    }))
    const message = {
      role: 'assistant',
      content: answer?.text ?? null,
      ...(tool_calls && { tool_calls }),
    }
    const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    outgoing.writeHead(answer ? (answer.status ?? 200) : 429, {
      'content-type': 'application/json',
      ...answer?.headers,
    })
    outgoing.end(answer?.body ?? JSON.stringify({ choices, usage }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  return { url: `http://127.0.0.1:${port}/v1`, requests, headers }
}
