import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { withoutSecrets } from '../agents/guards/secrets.ts'
import { refusalHeaders } from '../bindings/call.ts'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { A2AError, errorRow, toA2AError } from '../protocol/errors.ts'
import { type Explanation, explainError, failureOf } from '../protocol/failure.ts'
import {
  hasScope,
  mayExplain,
  mustHaveScope,
  principalOf,
  type ScopeName,
} from '../protocol/operations.ts'
import type { SecurityScheme } from '../protocol/types.ts'
import {
  createHostRule,
  isLoopbackAuthority,
  namedHosts,
  originAuthority,
} from '../server/access/origins.ts'
import type { ConsoleHost, CreateConsole } from '../server/options.ts'
import { myTurn } from '../shared/async.ts'
import { toTimestamp } from '../shared/clock.ts'
import { SharedBudget } from '../shared/fair-share.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import type { ApiRefusal, Login } from './api.ts'
import { type ApiCall, type ApiHandler, asker, ok, toViewer, type Viewer } from './call.ts'
import { createChangeStreams } from './changes.ts'
import { createEdgesHandler } from './edges.ts'
import { createTaskReader } from './facts.ts'
import { createGraphHandler } from './graph.ts'
import { createAgentRelay, createReceivers, createWireHandler, type RelayOptions } from './relay.ts'
import { createRosterHandler } from './roster.ts'
import { createTaskHandlers } from './tasks.ts'
import { createWebhookHandlers } from './webhooks.ts'

/** How a console behaves. */
export interface ConsoleOptions extends RelayOptions {
  /** What the page calls the store: `memory`, `sqlite`, `postgres`; `custom` if absent. */
  readonly store?: string
  /** The folder of another page than the one that comes with Corral: its `index.html` and `assets`. */
  readonly page?: string
}

const consoleOptions: OptionTable<ConsoleOptions> = {
  store: 'string',
  page: 'string',
  allow: 'array',
  lookup: 'function',
}

/**
 * Makes the console for a server of your own: `createServer({ agents, console: createConsole() })`. The page is at
 * `/console` and, for browsers, at the root.
 */
export function createConsole(options: ConsoleOptions = {}): CreateConsole {
  checkOptions('createConsole', options, consoleOptions)
  return (host) => {
    const page = createConsolePage(options.page)
    const gate = createConsoleGate(host)
    const startedAt = toTimestamp(host.clock.now())
    let made: Api | undefined
    const api = (): Api => {
      made ??= createApi(host, startedAt, options)
      return made
    }
    // A mistake in what the console may reach is told at the start.
    if (options.allow) api()

    function answerApi(request: HttpRequest, isLocal: boolean): HttpReply | Promise<HttpReply> {
      const refused = gate.refuse(request, isLocal)
      if (refused) return refused
      const [, , , ...given] = request.path.split('/')
      const segments = given.map(decode)
      const [first, second = '', ...beyond] = segments
      if (first === 'receiver' && second !== '' && request.method === 'POST' && !beyond.length)
        return api().receivers.post(second, request)
      const shape = segments.map((segment, i) =>
        i === 1 && hasId(first, segment) ? 'ID' : segment,
      )
      const methods = api().rows[shape.join('/')]
      const demand = methods?.[request.method]
      if (demand) return gate.answer(demand, request, { id: second, isLocal })
      if (!methods) return toReply(new A2AError('methodNotFound', 'The console has no such path'))
      return { status: 405, headers: { allow: Object.keys(methods).join(', ') } }
    }

    return {
      handle(request, isLocal) {
        const { path, method } = request
        if (path.startsWith(apiPath)) return answerApi(request, isLocal)
        if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { allow: 'GET' } }
        if (path === '/console' || path === '/console/') return page.index(request) ?? unbuilt()
        if (path === '/console/errors.md') return guide()
        const name = path.startsWith(assetsPath) ? path.slice(assetsPath.length) : ''
        return page.asset(name, request) ?? { status: 404, headers: {} }
      },
      root: (request) => (wantsPage(request) ? page.index(request) : undefined),
      // Receivers are made by requests to the API: without one there is none.
      isReceiver: (url) => made?.receivers.isReceiver(url) ?? false,
      receive: (delivery) => api().receivers.receive(delivery),
      async close() {
        await made?.close()
      },
    }
  }
}

const apiPath = '/console/api/'

const assetsPath = '/console/assets/'

function guide(): HttpReply {
  const body = readFileSync(new URL('../../docs/guides/errors.md', import.meta.url), 'utf8')
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }
}

function unbuilt(): HttpReply {
  const message = 'The page of the console is not built; run npm run build'
  return toReply(new A2AError('unavailable', message))
}

type Methods = Readonly<Record<string, Demand>>

interface Api {
  readonly receivers: ReturnType<typeof createReceivers>
  readonly rows: Readonly<Record<string, Methods>>
  close(): Promise<void>
}

/**
 * Every path of the API, below `/console/api`, with the scope that its caller needs. It is made with the first request:
 * most servers run for long without anyone looking.
 */
function createApi(
  host: ConsoleHost,
  startedAt: string,
  { store = 'custom', ...options }: ConsoleOptions,
): Api {
  const receivers = createReceivers(host)
  const reader = createTaskReader(host.store)
  const tasks = createTaskHandlers(host, reader)
  const webhooks = createWebhookHandlers(host)
  const changes = createChangeStreams(host, reader)
  const relay = createAgentRelay(host, options)
  const words = { version: packageVersion(), store, startedAt }
  const read = (handle: ApiHandler, inLine = false): Methods => ({
    GET: { scope: 'tasks:read', inLine, handle },
  })
  const readInLine = (handle: JsonHandler): Methods => read(json(handle), true)
  return {
    receivers,
    rows: {
      roster: read(json(createRosterHandler(host, reader, words))),
      'graph/ID': read(createGraphHandler(host)),
      'edges/ID': readInLine(createEdgesHandler(host, reader)),
      tasks: readInLine(tasks.list),
      'tasks/ID': readInLine(tasks.one),
      'tasks/ID/records': readInLine(tasks.records),
      'tasks/ID/wire': readInLine(createWireHandler(host)),
      events: read(changes.handle),
      webhooks: { GET: { scope: 'push', inLine: true, handle: json(webhooks.list) } },
      'webhooks/redrive': { POST: { scope: 'push', handle: json(webhooks.redrive) } },
      relay: { POST: { scope: 'tasks:write', handle: relay.handle } },
      receiver: { POST: { scope: 'push', handle: json(receivers.create) } },
      'receiver/ID': { GET: { scope: 'push', handle: json(receivers.show) } },
    },
    async close() {
      changes.close()
      await relay.close()
    },
  }
}

type JsonHandler = (call: ApiCall) => unknown

function json(handle: JsonHandler): ApiHandler {
  return async (call) => ok(await handle(call))
}

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

interface Demand {
  /** The scope that the caller needs; `operator` always suffices. */
  readonly scope?: ScopeName
  /** Whether answers of one caller are made one after the other, since making one keeps the server busy. */
  readonly inLine?: boolean
  readonly handle: ApiHandler
}

/** Lets in whom the server knows, from its own page alone, and turns what is thrown into a refusal. */
function createConsoleGate(host: ConsoleHost) {
  const { options, visitors, logger, auth } = host
  const isNamed = createHostRule(namedHosts(options))
  const logins = Object.values(auth.securitySchemes).flatMap(toLogin)

  const asking = new SharedBudget({ max: Number.POSITIVE_INFINITY, share: maxAtOnce })
  const inLine = createQueues()

  async function identify(request: HttpRequest, scope: ScopeName | undefined): Promise<Viewer> {
    const known = await visitors.identify(request)
    if (scope && !hasScope(known, 'operator')) mustHaveScope(known, scope)
    return toViewer(known)
  }

  return {
    /** Why a request must not be answered at all: it comes from another page, or under a foreign name. */
    refuse(request: HttpRequest, isLocal: boolean): HttpReply | undefined {
      const reason = foreignReason(request, isLocal, isNamed)
      return reason === undefined ? undefined : toReply(new A2AError('forbidden', reason))
    },
    async answer(
      { scope, inLine: isQueued, handle }: Demand,
      request: HttpRequest,
      { id, isLocal }: Pick<ApiCall, 'id' | 'isLocal'>,
    ): Promise<HttpReply> {
      let viewer: Viewer | undefined
      try {
        viewer = await identify(request, scope)
        if (viewer.isOperator)
          logger.info({ operator: viewer.auth.userId, path: request.path }, 'An operator looked')
        const query = new URLSearchParams(request.query)
        const { client } = request
        const who = { auth: viewer.auth, ...(client !== undefined && { client }) }
        const principal = principalOf(who)
        const call = { viewer, principal, request, id, isLocal, query }
        const work = async (): Promise<HttpReply> => handle(call)
        return await inShare(asking, principal, isQueued ? () => inLine(principal, work) : work)
      } catch (thrown) {
        const error = toA2AError(thrown)
        if (error.code === 'internal') logger.error({ err: thrown }, 'The console failed')
        const explains = viewer !== undefined && mayExplain(asker({ viewer, request }))
        const why = explains
          ? explainError(error, failureOf(error, withoutSecrets), { id })
          : undefined
        return toReply(error, logins, why)
      }
    },
  }
}

const foreign = 'The console answers its own page only'

/** Where everybody's pages may call, a page under a foreign name that points here is still a foreign one. */
function foreignReason(
  { headers }: HttpRequest,
  isLocal: boolean,
  isNamed: (authority: string) => boolean,
): string | undefined {
  const { origin, host: named, 'sec-fetch-site': site } = headers
  if (isLocal && named !== undefined && !isLoopbackAuthority(named) && !isNamed(named))
    return 'The console does not answer to this host; add it to [server] allowed_hosts'
  if (site === 'cross-site' || site === 'same-site') return foreign
  if (origin === undefined) return undefined
  const authority = originAuthority(origin)
  const isOwn = authority !== undefined && (authority === named || isNamed(authority))
  return isOwn ? undefined : foreign
}

function toReply(error: A2AError, logins: readonly Login[] = [], why?: Explanation): HttpReply {
  const { code, message } = error
  const body: ApiRefusal = {
    error: { code, message, ...(code === 'unauthenticated' && { logins }), ...(why && { why }) },
  }
  return {
    status: errorRow(code).http,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...refusalHeaders(error),
    },
    body: JSON.stringify(body),
  }
}

/** How a person signs in; schemes that a field cannot serve are left out. */
function toLogin(scheme: SecurityScheme): readonly Login[] {
  if ('apiKeySecurityScheme' in scheme) {
    const { location, name } = scheme.apiKeySecurityScheme
    return location === 'header' ? [{ label: 'API key', header: name, prefix: '' }] : []
  }
  if ('httpAuthSecurityScheme' in scheme)
    return scheme.httpAuthSecurityScheme.scheme.toLowerCase() === 'bearer' ? [bearer] : []
  return 'mtlsSecurityScheme' in scheme ? [] : [bearer]
}

const bearer: Login = { label: 'Token', header: 'Authorization', prefix: 'Bearer ' }

/** Nothing but its own scripts and styles, no other origin, no frame around it. */
const policy = [
  ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"],
  ["img-src 'self' data:", "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"],
]
  .flat()
  .join('; ')

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  woff2: 'font/woff2',
}

interface BuiltFile {
  readonly plain: Uint8Array
  readonly gzipped: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** Finds the built page, if there is one; its few files are read once, with the first request. */
function createConsolePage(folder: string | undefined = findFolder()) {
  let files: ReadonlyMap<string, BuiltFile> | undefined
  const find = (name: string): BuiltFile | undefined => {
    files ??= folder === undefined ? new Map() : readAll(folder)
    return files.get(name)
  }
  return {
    index: (request: HttpRequest) => toPageReply(find('index.html'), request),
    asset: (name: string, request: HttpRequest) => toPageReply(find(`assets/${name}`), request),
  }
}

/** Beside this file where the package is built; in a checkout, where the build puts it. */
function findFolder(): string | undefined {
  const places = ['./page/', '../../dist/console/page/']
  return places
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((place) => existsSync(join(place, 'index.html')))
}

function readAll(folder: string): ReadonlyMap<string, BuiltFile> {
  const files = new Map<string, BuiltFile>()
  if (!existsSync(join(folder, 'index.html'))) return files
  const names = ['index.html']
  if (existsSync(join(folder, 'assets')))
    for (const name of readdirSync(join(folder, 'assets'))) names.push(`assets/${name}`)
  for (const name of names) {
    const type = types[name.slice(name.lastIndexOf('.') + 1)]
    if (type === undefined) continue
    const plain = readFileSync(join(folder, name))
    files.set(name, { plain, gzipped: gzipSync(plain), headers: headersOf(name, type) })
  }
  return files
}

/** Assets have a hash in their names, so they never change; the page may with every version. */
function headersOf(name: string, type: string): Readonly<Record<string, string>> {
  const isPage = name === 'index.html'
  return {
    'content-type': type,
    'content-security-policy': policy,
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': isPage ? 'no-cache' : 'public, max-age=31536000, immutable',
    vary: isPage ? 'Accept, Accept-Encoding' : 'Accept-Encoding',
  }
}

function toPageReply(file: BuiltFile | undefined, { headers }: HttpRequest): HttpReply | undefined {
  if (!file) return undefined
  const takesGzip = /\bgzip\b/.test(headers['accept-encoding'] ?? '')
  if (!takesGzip) return { status: 200, headers: file.headers, body: file.plain }
  return {
    status: 200,
    headers: { ...file.headers, 'content-encoding': 'gzip' },
    body: file.gzipped,
  }
}

/** Requests of one principal that are being answered, or wait to be, at once: some answers take a while. */
const maxAtOnce = 16

async function inShare<T>(
  asking: SharedBudget,
  principal: string,
  work: () => Promise<T>,
): Promise<T> {
  if (!asking.take(principal, 1))
    throw new A2AError('rateLimited', 'You ask for too much at once', { retryAfterSeconds: 1 })
  try {
    return await work()
  } finally {
    asking.give(principal, 1)
  }
}

/** Makes what does the works of one caller one after the other, with a turn for everybody else in between. */
function createQueues() {
  const lines = new Map<string, Promise<void>>()
  return <T>(principal: string, work: () => Promise<T>): Promise<T> => {
    const mine = (lines.get(principal) ?? Promise.resolve())
      .then(() => myTurn(principal))
      .then(work)
    const end = (): void => {
      if (lines.get(principal) === last) lines.delete(principal)
    }
    const last = mine.then(end, end)
    lines.set(principal, last)
    return mine
  }
}
