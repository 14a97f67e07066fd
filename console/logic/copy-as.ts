import type { WireFrame } from '../../src/console/api.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { Json, Message } from '../../src/protocol/types.ts'

/** What is copied: the first request of a task, and whom it went to. */
export interface Copied {
  readonly agentUrl: string
  readonly message: Message
  /** The request as the chosen wire writes it. */
  readonly request?: WireFrame
}

/** The request as a command of curl; its credentials are to be filled in. */
export function asCurl({ agentUrl, message, request }: Copied): string {
  if (!request) return asCurl({ agentUrl, message, request: plainRequest(agentUrl, message) })
  const [method = 'POST', url = agentUrl] = request.title.split(' ')
  const headers = Object.entries(request.headers).map(
    ([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`,
  )
  const body = `  -d ${quoted(JSON.stringify(request.body))}`
  return [`curl -N -X ${method} ${quoted(url)}`, ...headers, body].join(' \\\n')
}

/** The same question by the command of the house. */
export function asCorral({ agentUrl, message }: Copied): string {
  return `corral send ${quoted(agentUrl)} ${quoted(textOf(message.parts))} --stream --trace`
}

/** The same question as a program. */
export function asTypeScript({ agentUrl, message }: Copied): string {
  return [
    "import { A2AClient } from 'corral/client'",
    '',
    `const client = new A2AClient(${JSON.stringify(agentUrl)})`,
    `const stream = client.sendMessageStream(${JSON.stringify(textOf(message.parts))})`,
    'for await (const event of stream) console.log(event)',
    'await client.close()',
    '',
  ].join('\n')
}

function plainRequest(agentUrl: string, message: Message): WireFrame {
  const parts: Json = JSON.parse(JSON.stringify(message.parts))
  return {
    direction: 'request',
    title: `POST ${agentUrl.endsWith('/') ? agentUrl : `${agentUrl}/`}v1/rpc`,
    headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0' },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: { message: { messageId: message.messageId, role: message.role, parts } },
    },
  }
}

/** A word of a POSIX shell, whatever is in it. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
