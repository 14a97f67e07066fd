import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Workload } from '../workloads.ts'

interface Request {
  readonly id: number
  readonly params: { readonly message?: { readonly parts: readonly { readonly text: string }[] } }
}

/**
 * The floor: bare `node:http` that parses the same request, builds the same answer object and stringifies it;
 * for a stream it writes once per event. Nothing is stored, checked or scheduled.
 */
export async function serveFloor(workload: Workload): Promise<number> {
  const answer = answerOf(workload)
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => answer(JSON.parse(Buffer.concat(chunks).toString()), response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port // a listening TCP server has one
}

function answerOf(workload: Workload): (request: Request, response: ServerResponse) => void {
  if (workload.agent === 'stream')
    return (request, response) => stream(request, response, workload.chunks)
  const page = workload.body.includes('ListTasks') ? 50 : 0
  return (request, response) => {
    const result = page
      ? {
          tasks: Array.from({ length: page }, () => listed()),
          nextPageToken: 'x',
          pageSize: page,
          totalSize: workload.stored,
        }
      : resultOf(request, workload)
    const text = JSON.stringify({ jsonrpc: '2.0', id: request.id, result })
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    })
    response.end(text)
  }
}

function resultOf(request: Request, workload: Workload): object {
  const text = `Echo: ${request.params.message?.parts[0]?.text ?? 'hello there'}`
  if (workload.agent === 'message')
    return {
      message: {
        messageId: crypto.randomUUID(),
        role: 'ROLE_AGENT',
        parts: [{ text }],
        contextId: crypto.randomUUID(),
      },
    }
  const task = taskOf(text, request.params.message)
  return workload.stored > 0 ? task : { task }
}

function taskOf(text: string, message: object | undefined): object {
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

function listed(): object {
  return {
    id: crypto.randomUUID(),
    contextId: crypto.randomUUID(),
    status: { state: 'TASK_STATE_COMPLETED', timestamp: new Date().toISOString() },
    history: [{ messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello there' }] }],
  }
}

function stream(request: Request, response: ServerResponse, count: number): void {
  const taskId = crypto.randomUUID()
  const contextId = crypto.randomUUID()
  const write = (result: object, seq: number): void => {
    const data = JSON.stringify({ jsonrpc: '2.0', id: request.id, result })
    response.write(`id: ${seq}\ndata: ${data}\n\n`)
  }
  const status = (state: string): object => ({ state, timestamp: new Date().toISOString() })
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  write(
    {
      task: {
        id: taskId,
        contextId,
        status: status('TASK_STATE_WORKING'),
        history: [request.params.message],
      },
    },
    3,
  )
  for (let i = 0; i < count; i++) {
    const artifact = { artifactId: 'response', parts: [{ text: `chunk ${i} ` }] }
    write({ artifactUpdate: { taskId, contextId, artifact, append: i > 0 } }, i + 4)
  }
  write({ statusUpdate: { taskId, contextId, status: status('TASK_STATE_COMPLETED') } }, count + 4)
  response.end()
}
