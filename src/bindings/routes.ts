import { type OperationName, operations, type QueryKind } from '../protocol/operations.ts'
import { decodeState } from './dialects/lenient.ts'
import type { HttpHandler, HttpReply } from './http.ts'

/**
 * Where a server answers: the one list of its paths and the methods that each takes. Routing, 405s, CORS preflights and
 * the words that are never a tenant follow from it. A path that ends in `*` stands for all that begin with it.
 */
interface RouteRow {
  readonly paths: readonly [string, ...string[]]
  readonly methods: readonly string[]
}

/** A list of routes, by what they are for. */
type RouteRows<N extends string> = Readonly<Record<N, RouteRow>>

/** What an agent is asked by: JSON-RPC in the dialect of a request that names no version, RANCH's stream, its card. */
export type AgentRoute = 'rpc' | 'ranch' | 'rc' | 'ranchStream' | 'card'

/** OpenAI's API. */
export type OpenAIRoute = 'completions' | 'chat' | 'models' | 'model' | 'responses'

/**
 * The server's own: pages, the public keys of webhook tokens, its OAuth metadata, where remote agents report, and
 * endpoints for clients that do not speak A2A.
 */
export type ServerRoute =
  | 'health'
  | 'metrics'
  | 'catalogue'
  | 'keys'
  | 'resource'
  | 'mcp'
  | 'callback'
  | OpenAIRoute

const post = ['POST']

const page = ['GET', 'HEAD']

/** The paths of one agent, at the root and below `/agents/{id}` alike. All others below it are HTTP+JSON's. */
export const agentRoutes: RouteRows<AgentRoute> = {
  rpc: { paths: ['/', ''], methods: post },
  ranch: { paths: ['/rpc', '/rpc/'], methods: post },
  rc: { paths: ['/v1/rpc', '/v1/rpc/'], methods: post },
  ranchStream: { paths: ['/stream'], methods: post },
  card: { paths: ['/.well-known/agent-card.json', '/.well-known/agent.json'], methods: page },
}

/** The paths of OpenAI's API. */
const openAIRoutes: RouteRows<OpenAIRoute> = {
  completions: { paths: ['/v1/chat/completions'], methods: post },
  chat: { paths: ['/v1/chat'], methods: post },
  models: { paths: ['/v1/models'], methods: ['GET'] },
  model: { paths: ['/v1/models/*'], methods: ['GET'] },
  responses: { paths: ['/v1/responses', '/v1/responses/*'], methods: ['GET', 'POST', 'DELETE'] },
}

/** Where remote agents report that a task of theirs has changed; the id of our task that waits for it follows. */
export const callbackPath = '/webhooks/remote'

/** The server's own paths, whichever agents it has. They come before those of the first agent. */
export const serverRoutes: RouteRows<ServerRoute> = {
  health: { paths: ['/health'], methods: page },
  metrics: { paths: ['/metrics'], methods: page },
  catalogue: { paths: ['/agents'], methods: page },
  keys: { paths: ['/.well-known/jwks.json'], methods: page },
  resource: { paths: ['/.well-known/oauth-protected-resource'], methods: page },
  mcp: { paths: ['/mcp'], methods: post },
  callback: { paths: [`${callbackPath}/*`], methods: post },
  ...openAIRoutes,
}

/** A console has its paths here and below, where the server has one. */
const consolePath = '/console'

/** Agents have their paths below this one and their id. */
const agentsPath = '/agents/'

/** What HTTP+JSON takes at one path or another. */
const restMethods = ['GET', 'POST', 'DELETE'] as const

/** A handler for each row of a list; undefined where there is nothing to be had. */
export type RouteHandlers<N extends string> = Readonly<Record<N, HttpHandler | undefined>>

/** What answers at a path, behind the methods of its row; undefined where no row has it. */
type FindRoute = (path: string) => HttpHandler | undefined

/** Prepares the rows of a list: to find one costs a look into a Map, however many there are. */
export function createRouteTable<N extends string>(
  rows: RouteRows<N>,
  handlers: RouteHandlers<N>,
): FindRoute {
  const exact = new Map<string, HttpHandler>()
  const prefixes: { readonly prefix: string; readonly handle: HttpHandler }[] = []
  // Its keys are the names of the rows: that is its type.
  for (const name of Object.keys(rows) as N[]) {
    const { paths, methods } = rows[name]
    const handler = handlers[name]
    if (!handler) continue
    const handle = withMethods(methods, handler)
    for (const path of paths)
      if (path.endsWith('*')) prefixes.push({ prefix: path.slice(0, -1), handle })
      else exact.set(path, handle)
  }
  return (path) => {
    const found = exact.get(path)
    if (found) return found
    for (const { prefix, handle } of prefixes) if (path.startsWith(prefix)) return handle
    return undefined
  }
}

/** Answers by the rows of a list, and by `otherwise` at all other paths. */
export function createRouter<N extends string>(
  rows: RouteRows<N>,
  handlers: RouteHandlers<N>,
  otherwise: HttpHandler,
): HttpHandler {
  const find = createRouteTable(rows, handlers)
  return (request) => (find(request.path) ?? otherwise)(request)
}

/** A handler that is made with its first request. */
export function onFirstUse(create: () => HttpHandler): HttpHandler {
  let made: HttpHandler | undefined
  return (request) => {
    made ??= create()
    return made(request)
  }
}

function withMethods(methods: readonly string[], handle: HttpHandler): HttpHandler {
  const refusal: HttpReply = { status: 405, headers: { allow: methods.join(', ') } }
  return (request) => (methods.includes(request.method) ? handle(request) : refusal)
}

/** An agent's id, as the path spells it, and the path below its own; undefined for a path that names no agent. */
export function splitAgentPath(
  path: string,
): { readonly id: string; readonly below: string } | undefined {
  if (!path.startsWith(agentsPath)) return undefined
  const cut = path.indexOf('/', agentsPath.length)
  if (cut < 0) return { id: path.slice(agentsPath.length), below: '/' }
  return { id: path.slice(agentsPath.length, cut), below: path.slice(cut) }
}

/** Whether an agent's card is at a path. */
export function isCardPath(path: string): boolean {
  return agentRoutes.card.paths.includes(splitAgentPath(path)?.below ?? path)
}

/** Whether a path is the console's. */
export function isConsolePath(path: string): boolean {
  return path.startsWith(consolePath) && (path.length === 8 || path[8] === '/')
}

/** Whether anybody may post to a path: to a console's receiver, whose id is hard to guess. */
export function isReceiverPath(path: string): boolean {
  return path.startsWith(`${consolePath}/api/receiver/`)
}

/** The id of the task that a remote agent reports to; undefined for another path. */
export function callbackTask(path: string): string | undefined {
  return path.startsWith(`${callbackPath}/`) ? path.slice(callbackPath.length + 1) : undefined
}

/** Whether JSON-RPC is spoken at a path, A2A's or MCP's. */
export function isRpcPath(path: string): boolean {
  return rpcPaths.has(splitAgentPath(path)?.below ?? path)
}

/** The methods that a page may use at a path. HEAD needs no leave (Fetch §2.2.1). */
export function methodsAt(path: string): readonly string[] {
  const agent = splitAgentPath(path)
  const rows = agent ? agentRows : allRows
  const at = agent?.below ?? path
  const row = rows.find(({ paths }) => paths.some((one) => covers(one, at)))
  return (row?.methods ?? restMethods).filter((method) => method !== 'HEAD')
}

function covers(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern
}

const rpcPaths: ReadonlySet<string> = new Set(
  [
    agentRoutes.rpc,
    agentRoutes.ranch,
    agentRoutes.rc,
    agentRoutes.ranchStream,
    serverRoutes.mcp,
  ].flatMap(({ paths }) => paths),
)

const agentRows: readonly RouteRow[] = Object.values(agentRoutes)

const allRows: readonly RouteRow[] = [...Object.values(serverRoutes), ...agentRows]

/** First segments that are never a tenant: those of our paths, of HTTP+JSON's tasks, and of the console. */
export const reservedSegments: ReadonlySet<string> = new Set([
  ...allRows.flatMap(({ paths }) => paths.flatMap((path) => path.split('/')[1] || [])),
  'tasks',
  'console',
])

/** The known parameters of a query, typed; snake_case names are read too. What cannot be read as its type stays text, and the schema refuses it. */
export function decodeQuery(
  operation: OperationName,
  query: string,
): Readonly<Record<string, unknown>> {
  const known = operations[operation].rest.query
  const out: Record<string, unknown> = {}
  if (query === '' || !known) return out
  for (const [key, value] of new URLSearchParams(query)) {
    const name = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const kind = Object.hasOwn(known, name) ? known[name] : undefined
    if (kind !== undefined && value !== '') out[name] = read(value, kind)
  }
  return out
}

/** The query of a request, with its question mark; empty if there is nothing to say. */
export function encodeQuery(operation: OperationName, request: object): string {
  const known = operations[operation].rest.query ?? {}
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(request))
    if (value !== undefined && name !== 'tenant' && Object.hasOwn(known, name))
      query.set(name, String(value))
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

function read(value: string, kind: QueryKind): unknown {
  if (kind === 'integer') return /^-?\d{1,15}$/.test(value) ? Number(value) : value
  if (kind === 'boolean') return value === 'true' ? true : value === 'false' ? false : value
  return kind === 'state' ? decodeState(value) : value
}
