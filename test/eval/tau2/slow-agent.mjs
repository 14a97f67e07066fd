/**
 * An agent in a process of its own that takes 30 ms for an answer: two calls of a tool, then words. It keeps the time
 * of every answer by its own clock and tells it at `/clock`; the parent gets its URL.
 */
import { createServer } from 'node:http'

const takes = 30
const times = []
const turns = new Map()

const server = createServer((request, response) => {
  const began = performance.now()
  const answer = (value) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(value))
  }
  if (request.url === '/clock') return answer(times)
  if (request.method === 'GET') return answer(card())
  let body = ''
  request.on('data', (chunk) => {
    body += chunk
  })
  request.on('end', () =>
    setTimeout(() => {
      const { id, params } = JSON.parse(body)
      const contextId = params.message.contextId ?? crypto.randomUUID()
      answer({ jsonrpc: '2.0', id, result: { message: say(contextId) } })
      times.push(performance.now() - began)
    }, takes),
  )
})

function say(contextId) {
  const turn = turns.get(contextId) ?? 0
  turns.set(contextId, turn + 1)
  const call = { tool_call: { name: 'calculate', arguments: { expression: '1 + 1' } } }
  const parts = turn < 2 ? [{ data: call }] : [{ text: 'Sorry, I cannot help with that.' }]
  return { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts, contextId }
}

function card() {
  const { port } = server.address()
  return {
    name: 'Slow agent',
    description: `Takes ${takes} ms`,
    version: '1.0.0',
    supportedInterfaces: [
      { url: `http://127.0.0.1:${port}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  }
}

server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${server.address().port}`))
process.on('disconnect', () => process.exit())
