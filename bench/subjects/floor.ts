import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createBareDesk } from '../desk.ts'
import type { Serving } from '../subject.ts'
import type { Workload } from '../workloads.ts'

interface Request {
  readonly id: number
  readonly params: {
    readonly id?: string
    readonly message?: { readonly parts: readonly { readonly text: string }[] }
  }
}

type Answer = (request: Request, response: ServerResponse) => void

/** The headers of Corral's answers: the floor sends the same bytes. */
const open = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
}
const json = { 'content-type': 'application/json', ...open }
const events = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
  ...open,
}

/**
 * The floor: bare `node:http` that parses the same request, builds the same answer object and stringifies it;
 * for a stream it writes once per event. Nothing is stored, checked or scheduled.
 */
export async function serveFloor(workload: Workload): Promise<Serving> {
  const held = new Set<ServerResponse>()
  const answer = workload.agent === 'held' ? hold(held) : await answerOf(workload)
  const server = createServer({ keepAliveTimeout: 65_000 }, (incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => answer(JSON.parse(Buffer.concat(chunks).toString()), response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4_096, resolve))
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  return { port, fire: () => tell(held) }
}

async function answerOf(workload: Workload): Promise<Answer> {
  if (workload.agent === 'desk') return answerChats(await createBareDesk())
  if (workload.agent === 'stream')
    return (request, response) => stream(request, response, workload.chunks)
  const page = workload.body.includes('ListTasks') ? 50 : 0
  return (request, response) => {
    const result = page ? pageOf(page, workload.stored) : resultOf(request, workload)
    const text = JSON.stringify({ jsonrpc: '2.0', result, id: request.id })
    response.writeHead(200, { ...json, 'content-length': Buffer.byteLength(text) })
    response.end(text)
  }
}

/** A chat is answered as soon as the last model call has ended; nothing goes out before, as with guards of the answer. */
function answerChats(ask: (text: string) => Promise<string>): Answer {
  return (request, response) => {
    const message = request.params.message ?? listedMessage
    void ask(message.parts[0]?.text ?? '').then((text) => {
      const result = { task: taskOf(text, message) }
      response.writeHead(200, events)
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', result, id: request.id })}\n\n`)
    })
  }
}

function pageOf(pageSize: number, totalSize: number): object {
  const tasks = Array.from({ length: pageSize }, () => taskOf('Echo: hello there', listedMessage))
  return { tasks, nextPageToken: 'x', pageSize, totalSize }
}

const listedMessage = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello there' }] }

function resultOf(request: Request, workload: Workload): object {
  const text = `Echo: ${request.params.message?.parts[0]?.text ?? 'hello there'}`
  if (workload.agent === 'message')
    return {
      message: {
        messageId: crypto.randomUUID(),
        contextId: crypto.randomUUID(),
        role: 'ROLE_AGENT',
        parts: [{ text }],
      },
    }
  const task = taskOf(text, request.params.message ?? listedMessage)
  return workload.stored > 0 ? task : { task }
}

function taskOf(text: string, message: object): object {
  const id = crypto.randomUUID()
  const contextId = crypto.randomUUID()
  return {
    id,
    contextId,
    status: { state: 'TASK_STATE_COMPLETED', timestamp: new Date().toISOString() },
    artifacts: [{ artifactId: 'response', name: 'response', parts: [{ text }] }],
    history: [{ ...message, taskId: id, contextId }],
  }
}

function stream({ id, params }: Request, response: ServerResponse, count: number): void {
  const taskId = crypto.randomUUID()
  const contextId = crypto.randomUUID()
  let seq = 2
  const write = (result: object): void => {
    const data = JSON.stringify({ jsonrpc: '2.0', result, id })
    response.write(`id: ${++seq}\ndata: ${data}\n\n`)
  }
  const status = (state: string): object => ({ state, timestamp: new Date().toISOString() })
  response.writeHead(200, events)
  const history = [{ ...params.message, taskId, contextId }]
  write({ task: { id: taskId, contextId, status: status('TASK_STATE_WORKING'), history } })
  for (let i = 0; i < count; i++) {
    const parts = [{ text: `chunk ${i} ` }]
    const artifact =
      i > 0
        ? { artifactId: 'response', parts }
        : { artifactId: 'response', name: 'response', parts }
    write({ artifactUpdate: { taskId, contextId, artifact, ...(i > 0 && { append: true }) } })
  }
  write({ statusUpdate: { taskId, contextId, status: status('TASK_STATE_COMPLETED') } })
  response.end()
}

function hold(held: Set<ServerResponse>): Answer {
  return ({ id, params }, response) => {
    held.add(response)
    response.on('close', () => held.delete(response))
    response.writeHead(200, events)
    const result = { task: taskOf('', { id: params.id }) }
    response.write(`id: 1\ndata: ${JSON.stringify({ jsonrpc: '2.0', result, id })}\n\n`)
  }
}

function tell(held: ReadonlySet<ServerResponse>): void {
  const artifact = { artifactId: 'news', parts: [{ text: 'the event' }] }
  for (const response of held) {
    const result = { artifactUpdate: { taskId: 't', contextId: 'c', artifact } }
    response.write(`id: 2\ndata: ${JSON.stringify({ jsonrpc: '2.0', result, id: 1 })}\n\n`)
  }
}
