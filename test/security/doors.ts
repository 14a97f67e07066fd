import type { ActingWire } from '../acceptance/wires.ts'

/**
 * The doors beside A2A. Those of others' clients can only send: a task's id names the task that the message continues;
 * those of the console only read.
 */

function post(path: string, body: object): ReturnType<ActingWire['request']> {
  const accept = 'application/json, text/event-stream'
  const headers = { 'content-type': 'application/json', accept }
  return { method: 'POST', path, query: '', headers, body: JSON.stringify(body) }
}

/** OpenAI's chat completions, whole or streamed. */
const completions: ActingWire = {
  name: 'OpenAI completions',
  request(act, { id, text = '' }) {
    if (act !== 'send' && act !== 'stream') return undefined
    const metadata = id === undefined ? {} : { task_id: id }
    const messages = [{ role: 'user', content: text }]
    const body = { model: 'worker', messages, metadata, stream: act === 'stream' }
    return post('/v1/chat/completions', body)
  },
}

/** The event stream of `/v1/chat`. */
const chat: ActingWire = {
  name: 'OpenAI chat',
  request(act, { id, text = '' }) {
    if (act !== 'send') return undefined
    const messages = [{ role: 'user', content: text }]
    return post('/v1/chat', { id: 'request', messages, context: { task_id: id } })
  },
}

/** MCP's tools over HTTP. */
const mcp: ActingWire = {
  name: 'MCP',
  request(act, { id, text = '' }) {
    if (act !== 'send') return undefined
    const params = { name: 'worker', arguments: { message: text, ...(id && { task_id: id }) } }
    return post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  },
}

/** A view of the console: it reads, and names no tenant. */
function consoleView(name: string, below = ''): ActingWire {
  const get = (path: string, query = '') => ({ method: 'GET', path, query, headers: {}, body: '' })
  return {
    name: `the console's ${name}`,
    request(act, { id }) {
      if (act === 'list') return get('/console/api/tasks')
      const [path, query] = below.split('?')
      return act === 'get' ? get(`/console/api/tasks/${id}${path}`, query) : undefined
    },
  }
}

/** Every door; a further one takes its place here. */
export const doors: readonly ActingWire[] = [
  completions,
  chat,
  mcp,
  consoleView('task'),
  consoleView('log', '/records'),
  consoleView('wire', '/wire?dialect=0.3'),
]
