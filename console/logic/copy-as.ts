import type { WireFrame } from '../../src/console/api.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { Json, Message } from '../../src/protocol/types.ts'
import { isFields } from '../../src/shared/json.ts'
import { newMessageId } from './ids.ts'

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
  const renamed = asNew(request.body, { from: message.messageId, to: newMessageId() })
  const [method = 'POST', url = agentUrl] = request.title.split(' ')
  const headers = Object.entries(request.headers).map(
    ([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`,
  )
  const body = `  -d ${quoted(JSON.stringify(renamed))}`
  return [`curl -N -X ${method} ${quoted(url)}`, ...headers, body].join(' \\\n')
}

/**
 * A body that asks anew: a server takes a message with a known id for the one it has, and one with a task's id for an
 * answer to it.
 */
function asNew(body: Json, id: { readonly from: string; readonly to: string }): Json {
  return JSON.parse(JSON.stringify(body), (_, value: unknown) => {
    if (!isFields(value) || Array.isArray(value)) return value === id.from ? id.to : value
    // Inner values come first: a message has its new id here.
    const { taskId: _task, task_id: _same, ...rest } = value
    return Object.values(value).includes(id.to) ? rest : value
  })
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
    `const events = client.stream(${JSON.stringify(textOf(message.parts))})`,
    'for await (const event of events) console.log(event)',
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
