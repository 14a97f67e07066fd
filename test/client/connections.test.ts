import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

/** Ends a body when clients on this machine have read what came before. */
function endLater(response: ServerResponse, turns = 5): void {
  if (turns === 0) response.end()
  else setImmediate(() => endLater(response, turns - 1))
}

/** An agent that streams its answers and counts the connections to it. */
interface CountingAgent {
  readonly url: string
  connections(): number
  /** Resolves when all of the last stream has been sent. */
  sent(): Promise<unknown>
}

async function openAgent(): Promise<CountingAgent> {
  let connections = 0
  let url = ''
  let sent: Promise<unknown> = Promise.resolve()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    if (request.method === 'GET') {
      const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
      const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] }
      const about = { name: 'Far', description: 'Far away', version: '1.0.0', skills: [] }
      const card = { ...about, ...modes, capabilities: { streaming: true }, supportedInterfaces }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(card))
      return
    }
    const { id } = JSON.parse(body)
    const ids = { taskId: crypto.randomUUID(), contextId: 'c' }
    const events = [
      { task: { id: ids.taskId, contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } },
      { artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ text: 'hi' }] } } },
      { statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } } },
    ]
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    sent = once(response, 'close')
    for (const result of events)
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
    endLater(response)
  }).on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url, connections: () => connections, sent: () => sent }
}

test('streams that are left at the last event of their task share their connections', async () => {
  const { url, connections, sent } = await openAgent()
  const agent = new A2AAgent({ id: 'far', name: 'Far', endpoint: url })
  onTestFinished(() => agent.close())
  for (let turn = 0; turn < 10; turn++) {
    await runTurn(agent, createTurn('x'))
    await sent()
  }
  // The next request may leave before the client has read the end of the last stream.
  expect(connections()).toBeLessThanOrEqual(3)
})
