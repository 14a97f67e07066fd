/**
 * The model service of the support desk, in a process of its own. Tells its URL, then answers any message with how many
 * connections were opened and how many answers given. Each chunk of an answer is a write of its own, as services stream.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ModelRequest } from '../../src/testing/index.ts'
import { toFrames } from '../../src/testing/model-wires.ts'
import { modelScript } from '../desk.ts'

let [connections, answers] = [0, 0]
const server = createServer({ keepAliveTimeout: 65_000 }, (incoming, response) => {
  let body = ''
  incoming.setEncoding('utf8').on('data', (piece) => {
    body += piece
  })
  incoming.on('end', () => {
    answers++
    const chat = JSON.parse(body) as ModelRequest // of the desk or its floor
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    stream(
      toFrames(chat, 'openai', { ...modelScript(chat), hasUsage: true })[Symbol.iterator](),
      response,
    )
  })
}).on('connection', () => connections++)

/** One frame in each turn of the loop, then the end of the body. */
function stream(frames: Iterator<string>, response: ServerResponse): void {
  const next = frames.next()
  if (next.done) response.end()
  else {
    response.write(next.value)
    setImmediate(stream, frames, response)
  }
}

server.listen(0, '127.0.0.1', 4_096, () => {
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  process.on('message', () => process.send?.({ connections, answers }))
  process.on('disconnect', () => process.exit(0))
  process.send?.({ url: `http://127.0.0.1:${port}/v1` })
})
