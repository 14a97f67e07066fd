import { type Cell, ofServer } from './cell.ts'
import type { Running } from './side.ts'
import { message, post, rpc, version } from './wire.ts'

const old = {
  message: {
    kind: 'message',
    messageId: 'm1',
    role: 'user',
    parts: [{ kind: 'text', text: 'hello' }],
  },
}
const oldRest = { message: { messageId: 'm1', role: 'ROLE_USER', content: [{ text: 'hello' }] } }
const chat = { model: 'compared', messages: [{ role: 'user', content: 'hello' }] }
const tool = { name: 'compared', arguments: { message: 'hello' } }
const mcpHeaders = {
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-06-18',
}

/** The wires, and how one says hello on each. */
const wires: readonly [name: string, say: (server: Running) => ReturnType<typeof post>][] = [
  ['1.0 JSON-RPC', ({ url }) => post(`${url}/`, rpc('SendMessage', message('hello')), version)],
  ['1.0 HTTP+JSON', ({ rest }) => post(`${rest}/message:send`, message('hello'), version)],
  ['0.3 JSON-RPC', ({ url }) => post(`${url}/`, rpc('message/send', old))],
  ['0.3 HTTP+JSON', ({ rest }) => post(`${rest}/v1/message:send`, oldRest)],
  ['OpenAI', ({ url }) => post(`${url}/v1/chat/completions`, chat)],
  ['MCP', ({ url }) => post(`${url}/mcp`, rpc('tools/call', tool), mcpHeaders)],
]

/** Says hello on every wire. */
export const wiresCell: Cell = ofServer(
  {
    name: 'wires',
    question: 'Which wires does one server answer on?',
    how: 'one message on each wire',
  },
  async (server) => {
    const answered: string[] = []
    for (const [name, say] of wires) {
      const { text } = await say(server)
      if (text.includes('Echo: hello')) answered.push(name)
    }
    return answered.join(', ')
  },
)
