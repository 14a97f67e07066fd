import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** What steers a terminal or turns its writing: clipboard, title, clear screen, C1, overrides, half a character. */
export const hostile: string =
  'Mallory\u001b]52;c;ZXZpbA==\u0007\u001b]0;mine\u001b\\\u001b[2J\u001b[31m\u009b2J\u009d0;mine\u009c\u0085' +
  '\u007f\u0000\b\u202eevil\u2066\u2069\u061c\u200e\u200f\u2028\u2029\ud800!\udfff\rspoofed\u000b'

/** As TOML and other formats without half characters can hold it. */
export const hostileText: string = hostile.replace(/[\ud800-\udfff]/gu, '')

/** The trace extension, whose entries the command shows. */
const traceUri = 'urn:corral:extensions:trace:v1'
const called = {
  member: hostile,
  team: hostile,
  step: hostile,
  call: hostile,
  path: '',
  text: hostile,
}
const entries = [
  { type: 'delegation', try: 1, time: hostile, ...called },
  { type: 'tool', tool: hostile, arguments: hostile, path: `${hostile}:${hostile}` },
  { type: 'decision', ...called, recipients: [hostile], reason: hostile },
  { type: 'failure', ...called, reason: hostile, durationMs: 1 },
  { type: hostile, text: hostile },
]

const parts = [
  { text: hostile },
  { data: { [hostile]: [hostile] } },
  { url: `https://files.example/${encodeURI(hostileText)}`, filename: hostile, mediaType: hostile },
]

/** An agent all of whose words are hostile, wherever a text may stand. */
export interface HostileAgent {
  readonly url: string
  /** The methods that were called. */
  readonly called: ReadonlySet<string>
}

/** Serves one until the test ends; its ids are as given. A text that begins with "fail" is answered by an error, one with "bad" by no JSON. */
export async function serveHostileAgent(id: string = hostile): Promise<HostileAgent> {
  const called = new Set<string>()
  const server = createServer(async (request, response) => {
    const body = await textOf(request)
    if (request.method === 'GET') return sendCard(response, `http://${request.headers.host}`)
    const { id: call, method, params } = JSON.parse(body)
    called.add(method)
    const text: string = params?.message?.parts?.[0]?.text ?? params?.id ?? ''
    if (text.startsWith('bad')) return void response.end(`${hostile} is no JSON`)
    if (text.startsWith('fail'))
      return sendJson(response, { jsonrpc: '2.0', id: call, error: failure })
    if (/Streaming|Subscribe/.test(method)) return sendEvents(response, call, id)
    sendJson(response, { jsonrpc: '2.0', id: call, result: resultOf(method, id) })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  return { url: `http://127.0.0.1:${port}`, called }
}

const failure = {
  code: -32001,
  message: hostile,
  data: [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: hostile,
      domain: hostile,
      metadata: { [hostile]: hostile },
    },
  ],
}

function message(id: string): object {
  const metadata = { [hostile]: hostile }
  return { messageId: id, contextId: id, role: 'ROLE_AGENT', parts, metadata }
}

function task(id: string, state: string): object {
  return {
    id,
    contextId: id,
    status: { state: `TASK_STATE_${state}`, message: message(id) },
    artifacts: [{ artifactId: id, name: hostile, description: hostile, parts }],
    history: [message(id)],
    metadata: { [hostile]: hostile, [traceUri]: entries },
  }
}

function resultOf(method: string, id: string): object {
  if (method === 'SendMessage') return { task: task(id, 'COMPLETED') }
  if (method !== 'ListTasks') return task(id, method === 'CancelTask' ? 'CANCELED' : 'COMPLETED')
  return { tasks: [task(id, 'WORKING')], totalSize: 9, pageSize: 1, nextPageToken: hostile }
}

function sendEvents(response: ServerResponse, call: unknown, id: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const ids = { taskId: id, contextId: id }
  const status = { state: 'TASK_STATE_FAILED', message: message(id) }
  const events = [
    { task: task(id, 'WORKING') },
    ...entries.map((entry) => ({
      statusUpdate: {
        ...ids,
        status: { state: 'TASK_STATE_WORKING' },
        metadata: { [traceUri]: entry },
      },
    })),
    { artifactUpdate: { ...ids, artifact: { artifactId: 'a', name: hostile, parts } } },
    { statusUpdate: { ...ids, status, metadata: { [hostile]: hostile } } },
  ]
  const comment = hostileText.replaceAll('\r', '')
  response.write(`: ${comment}\nevent: ${comment}\n`)
  for (const result of events)
    response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: call, result })}\n\n`)
  response.end()
}

function sendCard(response: ServerResponse, url: string): void {
  sendJson(response, {
    name: hostile,
    description: hostile,
    version: hostile,
    documentationUrl: hostile,
    provider: { organization: hostile, url: hostile },
    supportedInterfaces: [
      { url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${url}/`, protocolBinding: hostile, protocolVersion: hostile },
    ],
    capabilities: { streaming: true, [hostile]: true, extensions: [{ uri: traceUri }] },
    defaultInputModes: [hostile],
    defaultOutputModes: [hostile],
    skills: [{ id: hostile, name: hostile, description: hostile, tags: [hostile] }],
    securitySchemes: { [hostile]: { httpAuthSecurityScheme: { scheme: hostile } } },
    securityRequirements: [{ schemes: { [hostile]: { list: [] } } }],
  })
}

/** Header values carry what HTTP lets them: C1 and above as Latin-1. */
function sendJson(response: ServerResponse, value: object): void {
  const [type, warning] = ['application/json', '199 - "\u009b2J\u0085\u00ad"']
  response.writeHead(200, { 'content-type': type, warning, 'x-request-id': '\u009b31mid' })
  response.end(JSON.stringify(value))
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}
