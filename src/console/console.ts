import { readFileSync } from 'node:fs'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ConsoleHost, CreateConsole } from '../server/console.ts'
import type { ApiHandler } from './call.ts'
import { createEdgesHandler } from './edges.ts'
import { createChangeStreams } from './events.ts'
import { createConsoleGate, type Demand, toReply } from './gate.ts'
import { createGraphHandler } from './graph.ts'
import { createConsolePage } from './page.ts'
import { createReceivers } from './receiver.ts'
import { createAgentRelay, type RelayOptions } from './relay.ts'
import { createRosterHandler } from './roster.ts'
import { createTaskReader } from './task-reader.ts'
import { createTaskHandlers } from './tasks.ts'
import { createWebhookHandlers } from './webhooks.ts'
import { createWireHandler } from './wire.ts'

/** How a console behaves. */
export interface ConsoleOptions extends RelayOptions {
  /** What the page calls the store: `memory`, `sqlite`, `postgres`; `custom` if absent. */
  readonly store?: string
  /** The folder of another page than the one that comes with Corral: its `index.html` and `assets`. */
  readonly page?: string
}

/**
 * Makes the console for a server of your own: `createServer({ agents, console: createConsole() })`. The page is at
 * `/console` and, for browsers, at the root.
 */
export function createConsole(options: ConsoleOptions = {}): CreateConsole {
  return (host) => {
    const page = createConsolePage(options.page)
    const gate = createConsoleGate(host)
    const receivers = createReceivers(host)
    const { rows, close } = createApi(host, receivers, options)
    const unbuilt = toReply(new A2AError('unavailable', notBuilt))

    function answerApi(request: HttpRequest, isLocal: boolean): HttpReply | Promise<HttpReply> {
      const refused = gate.refuse(request, isLocal)
      if (refused) return refused
      const [, , , ...given] = request.path.split('/')
      const segments = given.map(decode)
      const [first, second = '', ...beyond] = segments
      if (first === 'receiver' && second !== '' && request.method === 'POST' && !beyond.length)
        return receivers.post(second, request)
      const shape = segments.map((segment, i) =>
        i === 1 && hasId(first, segment) ? 'ID' : segment,
      )
      const methods = rows[shape.join('/')]
      const demand = methods?.[request.method]
      if (demand) return gate.answer(demand, { request, id: second, isLocal })
      if (!methods) return toReply(new A2AError('methodNotFound', 'The console has no such path'))
      return { status: 405, headers: { allow: Object.keys(methods).join(', ') } }
    }

    return {
      handle(request, isLocal) {
        const { path, method } = request
        if (path.startsWith(apiPath)) return answerApi(request, isLocal)
        if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { allow: 'GET' } }
        if (path === '/console' || path === '/console/') return page.index(request) ?? unbuilt
        const name = path.startsWith(assetsPath) ? path.slice(assetsPath.length) : ''
        return page.asset(name, request) ?? { status: 404, headers: {} }
      },
      root: (request) => (wantsPage(request) ? page.index(request) : undefined),
      isReceiver: receivers.isReceiver,
      receive: receivers.receive,
      close,
    }
  }
}

const apiPath = '/console/api/'
const assetsPath = '/console/assets/'
const notBuilt = 'The page of the console is not built; run npm run build'

/** What answers at a path, by method. */
type Methods = Readonly<Record<string, Demand>>

interface Api {
  readonly rows: Readonly<Record<string, Methods>>
  close(): Promise<void>
}

/** Every path of the API, below `/console/api`, with the scope that its caller needs. */
function createApi(
  host: ConsoleHost,
  receivers: ReturnType<typeof createReceivers>,
  { store = 'custom', ...options }: ConsoleOptions,
): Api {
  const reader = createTaskReader(host.store)
  const tasks = createTaskHandlers(host, reader)
  const webhooks = createWebhookHandlers(host)
  const changes = createChangeStreams(host, reader)
  const relay = createAgentRelay(host, options)
  const words = { version: packageVersion(), store }
  const read = (handle: ApiHandler): Methods => ({ GET: { scope: 'tasks:read', handle } })
  const readInLine = (handle: ApiHandler): Methods => ({
    GET: { scope: 'tasks:read', inLine: true, handle },
  })
  return {
    rows: {
      roster: read(createRosterHandler(host, reader, words)),
      'graph/ID': read(createGraphHandler(host)),
      'edges/ID': readInLine(createEdgesHandler(host, reader)),
      tasks: readInLine(tasks.list),
      'tasks/ID': readInLine(tasks.one),
      'tasks/ID/records': readInLine(tasks.records),
      'tasks/ID/wire': readInLine(createWireHandler(host)),
      events: read(changes.handle),
      webhooks: { GET: { scope: 'push', inLine: true, handle: webhooks.list } },
      'webhooks/redrive': { POST: { scope: 'push', handle: webhooks.redrive } },
      relay: { POST: { scope: 'tasks:write', handle: relay.handle } },
      receiver: { POST: { scope: 'push', handle: receivers.create } },
      'receiver/ID': { GET: { scope: 'push', handle: receivers.show } },
    },
    async close() {
      changes.close()
      await relay.close()
    },
  }
}

/** Whether the second segment of a path is somebody's id. */
function hasId(first: string | undefined, second: string): boolean {
  return second !== '' && (first !== 'webhooks' || second !== 'redrive')
}

/** A browser asks for a page first and takes anything else too; programs name what they want. */
function wantsPage({ method, headers }: HttpRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && /\btext\/html\b/.test(headers.accept ?? '')
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function packageVersion(): string {
  const file = new URL('../../package.json', import.meta.url)
  const { version = '' }: { version?: string } = JSON.parse(readFileSync(file, 'utf8'))
  return version
}
