import { chmod, mkdir, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import type { Agent, AgentInfo } from '../agents/agent.ts'
import type { ModelPrices } from '../agents/prices.ts'
import { serveMcpStdio } from '../bindings/mcp.ts'
import { createConsole } from '../console/console.ts'
import { type AuthOptions, authenticators, type SchemeOptions } from '../server/access/auth.ts'
import { resolveLimits } from '../server/access/limits.ts'
import type { Authenticator } from '../server/authenticator.ts'
import {
  type Listening,
  type ListenOptions,
  runServer,
  type StartedServer,
} from '../server/node/run.ts'
import type { ServerOptions } from '../server/options.ts'
import { createServer, type Server } from '../server/server.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import { nearest, readUrl } from '../shared/text.ts'
import { createMemoryStore } from '../store/memory/store.ts'
import { isPostgresUrl, toShownStore } from '../store/postgres/connection.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../store/postgres/store.ts'
import { openSqliteStore, type SqliteStoreOptions } from '../store/sqlite/store.ts'
import type { Store } from '../store/store.ts'
import type { Config } from './config/file.ts'
import type {
  PostgresConfig,
  PostgresTlsConfig,
  RetentionConfig,
  ServerAuthConfig,
  ServerConfig,
  WebhooksConfig,
} from './config/server.ts'
import { type ConfigVariables, serverDefaults, whenGiven } from './config/values.ts'
import { type BuildDeps, createRoster, rosterWarnings } from './roster.ts'
import { Generation, watchConfig } from './watch.ts'

/** How a configuration is served. What is said here comes before what the file's `[server]` table says. */
export interface ServeOptions {
  /** The file that the configuration was read from; its modules are looked for beside it. */
  readonly path: string
  /** Variables that the configuration may name. */
  readonly env: ConfigVariables
  /** `127.0.0.1` if neither this nor the file says. */
  readonly host?: string
  /** 3000 if neither this nor the file says; 0 takes any free port. */
  readonly port?: number
  /**
   * `memory`, a file or a `postgres://` URL; `.corral/tasks.db` if neither this nor the file says. A file that the
   * configuration names is relative to it.
   */
  readonly store?: string
  /** The team or agent that answers at the root; the file's first team if absent. */
  readonly team?: string
  /** Agents to serve besides the file's, after them. */
  readonly agents?: readonly Agent[]
  /** What models cost, beside and before what the file says. */
  readonly prices?: ModelPrices
  /** Take over changes of the file and of its modules. */
  readonly watch?: boolean
  /** Whether it starts where anyone on the network may call; it does, with a warning, if neither this nor the file says. */
  readonly allowUnauthenticated?: boolean
  /** How long turns that run may still take when it stops, in milliseconds; 10,000 if absent. */
  readonly shutdownMs?: number
  /** Whether SIGINT and SIGTERM stop it; they do not if absent. */
  readonly signals?: boolean
  /** Where warnings and errors go; stderr if absent, nowhere where it is `false`. */
  readonly logger?: Logger | false
}

const serveOptions: OptionTable<ServeOptions> = {
  path: 'string!',
  env: 'object!',
  host: 'string',
  port: 'number',
  store: 'string',
  team: 'string',
  agents: 'array',
  prices: 'object',
  watch: 'boolean',
  allowUnauthenticated: 'boolean',
  shutdownMs: 'number',
  signals: 'boolean',
  logger: 'object|boolean',
}

/** A configuration that is being served. */
export interface Serving {
  /** The server behind the port. */
  readonly server: Server
  /** Where it listens. */
  readonly listening: Listening
  /** Who answers at the root. */
  readonly root: AgentInfo
  /** `memory`, the store's file, or its database without who logs in. */
  readonly store: string
  /** Whether there is a console at `/console/`. */
  readonly hasConsole: boolean
  /** What an earlier process had left. */
  readonly recovery: StartedServer['recovery']
  /** Asks the remote agents of the file whether they answer, for a few seconds at most, and gives those that do not. */
  findUnreachable(): Promise<readonly UnreachableAgent[]>
  /** Resolves when everything has been closed, by whomever. */
  readonly stopped: Promise<void>
  /**
   * Stops gracefully: no more messages, running turns end, streams close, everything is stored. May be called twice.
   */
  close(): Promise<void>
}

/** A remote agent that does not answer. */
export interface UnreachableAgent {
  readonly id: string
  /** Host and port of its endpoint. */
  readonly host: string
  /** Why, for people. */
  readonly reason: string
}

/**
 * Serves all teams and agents of a configuration on one port, on every wire, and takes up what an earlier process
 * left in the store.
 * @throws Error that says what is wrong: a module that cannot be loaded, a store or port that is in use.
 */
export async function serveConfig(config: Config, options: ServeOptions): Promise<Serving> {
  checkArgument('serveConfig', 'the configuration', config, 'object')
  checkOptions('serveConfig', options, serveOptions)
  const place = storePlace(config.server, options)
  const { path } = options
  const logger = toLogger(options.logger)
  const store = await openStore(place, { config: config.server, path, logger })
  let generation: Generation | undefined
  try {
    generation = await createFirst(config, options)
    return await start(config, { options, store, place, generation })
  } catch (error) {
    await generation?.close()
    await store.close()
    throw error
  }
}

interface Parts {
  readonly options: ServeOptions
  readonly store: Store
  readonly place: string
  readonly generation: Generation
}

async function start(config: Config, parts: Parts): Promise<Serving> {
  const { options, store, place, generation } = parts
  const { signals = false, shutdownMs } = options
  const logger = toLogger(options.logger)
  const agents = [...inOrder(generation, options.team), ...(options.agents ?? [])]
  const root = await rootOf(agents)
  const server = await createServer({
    pushNotifications: serverDefaults.hasWebhooks,
    ...toServerOptions(config.server, storeKind(place)),
    agents,
    store,
    logger,
    ...(shutdownMs !== undefined && { timeouts: { shutdownMs } }),
  })
  const reloads = options.watch ? follow(config, server, parts) : undefined
  const listening = await runServer(server, {
    ...toListenOptions(config.server, options),
    logger,
    signals,
    openWarning: 'Anyone who can reach this machine may call: set [server.auth]',
    ...(mayBeOpen(config, options) ? {} : { openRefusal }),
    beforeClose: () => reloads?.end(),
    async afterClose() {
      await (reloads?.current() ?? generation).close()
      await store.close()
    },
  })
  const { recovery, stopped, close } = listening
  const findUnreachable = (): Promise<readonly UnreachableAgent[]> =>
    askRemotes(config, reloads?.current() ?? generation)
  const hasConsole = config.server.console?.enabled ?? serverDefaults.hasConsole
  const served = { server, listening, root, store: toShownStore(place), hasConsole, recovery }
  return { ...served, findUnreachable, stopped, close }
}

async function askRemotes(
  { agents }: Config,
  generation: Generation,
): Promise<readonly UnreachableAgent[]> {
  const remotes = agents.filter(({ protocol }) => protocol === 'a2a')
  const answers = await Promise.all(
    remotes.map(async ({ id, endpoint }) => {
      const host = readUrl(endpoint)?.host ?? ''
      return { id, host, ...(await generation.health(id)) }
    }),
  )
  return answers.flatMap(({ id, host, healthy, reason = 'it does not answer' }) =>
    healthy ? [] : [{ id, host, reason }],
  )
}

const openRefusal =
  'Anyone who can reach this machine could call: set [server.auth], or allow it by --allow-unauthenticated or allow_unauthenticated = true in [server]'

function mayBeOpen({ server }: Config, { allowUnauthenticated }: ServeOptions): boolean {
  return allowUnauthenticated ?? server.allowUnauthenticated ?? true
}

interface Reloads {
  current(): Generation
  end(): void
}

/** Takes over changes of the file. One that cannot be used leaves everything as it is, and says why. */
function follow(config: Config, server: Server, { options, generation }: Parts): Reloads {
  const { path, env, team, agents = [] } = options
  const logger = toLogger(options.logger)
  let now = generation
  let settings = JSON.stringify(config.server)
  const end = watchConfig(path, config, {
    env,
    deps: depsOf(options),
    async onRoster(roster, changed) {
      const later = new Generation(roster, logger)
      try {
        await server.setAgents([...inOrder(later, team), ...agents])
      } catch (error) {
        await later.close()
        throw error
      }
      now.retire(later)
      now = later
      logger.info({ agents: changed.teams.length + changed.agents.length }, 'Took over the file')
      if (JSON.stringify(changed.server) !== settings)
        logger.warn({}, 'The [server] table changed; restart to take it over')
      settings = JSON.stringify(changed.server)
    },
    onError(error) {
      const reason = error instanceof Error ? error.message : String(error)
      logger.error({ reason }, 'The changed file cannot be used; the teams stay as they are')
    },
  })
  return { current: () => now, end }
}

async function createFirst(config: Config, options: ServeOptions): Promise<Generation> {
  const logger = toLogger(options.logger)
  const roster = await createRoster(config, depsOf(options))
  for (const words of await rosterWarnings(roster)) logger.warn({}, words)
  return new Generation(roster, logger)
}

function depsOf({ path, env, logger, prices }: ServeOptions): BuildDeps {
  const directory = dirname(resolve(path))
  return { directory, environment: env, log: toLogger(logger), ...(prices && { prices }) }
}

/** The agents with the one that answers at the root in front. */
function inOrder(generation: Generation, first: string | undefined): readonly Agent[] {
  if (first === undefined) return generation.agents
  const chosen = generation.get(first)
  if (!chosen)
    throw new Error(`There is no team or agent "${first}" in the file; ${known(generation, first)}`)
  return [chosen, ...generation.agents.filter((agent) => agent !== chosen)]
}

function known({ ids }: Generation, wanted: string): string {
  const meant = nearest(wanted, ids)
  const all = `there are ${ids.join(', ')}`
  return meant ? `did you mean ${meant}? (${all})` : all
}

async function rootOf([first]: readonly Agent[]): Promise<AgentInfo> {
  if (!first) throw new Error('The file has neither agents nor teams')
  return first.info()
}

/** Makes options of `createServer` of the `[server]` table of a file; agents and store are yours to add. */
export function toServerOptions(
  config: ServerConfig,
  store = 'custom',
): Omit<ServerOptions, 'agents' | 'store'> {
  const { publicUrl, allowedHosts, trustedProxies, auth, cors, limits, webhooks, trace } = config
  const { enabled = serverDefaults.hasConsole, allow } = config.console ?? {}
  return {
    ...whenGiven('publicUrl', publicUrl),
    ...whenGiven('allowedHosts', allowedHosts),
    ...whenGiven('trustedProxies', trustedProxies),
    ...whenGiven('cors', cors),
    ...whenGiven('trace', trace),
    ...(auth && { auth: toAuth(auth) }),
    ...whenGiven('limits', limits),
    ...(webhooks && { pushNotifications: toPush(webhooks) }),
    ...(enabled && { console: createConsole({ store, ...whenGiven('allow', allow) }) }),
  }
}

/** What the command says comes before what the file says. */
interface Place {
  readonly host?: string
  readonly port?: number
}

/** Where a server listens: only on this machine, at port 3000, where nobody says otherwise. */
export function toListenOptions(config: ServerConfig, { host, port }: Place): ListenOptions {
  return {
    host: host ?? config.host ?? serverDefaults.host,
    port: port ?? config.port ?? serverDefaults.port,
  }
}

/** How `[server.auth]` names each scheme; they are tried in this order. Code cannot stand in a file. */
const schemes: Readonly<
  Record<
    Exclude<keyof SchemeOptions, 'extractor'>,
    (config: ServerAuthConfig) => Authenticator | undefined
  >
> = {
  apiKey: ({ apiKeys, apiKeyHeader }) =>
    apiKeys && authenticators.apiKey({ keys: apiKeys, ...whenGiven('name', apiKeyHeader) }),
  bearer: ({ bearerTokens }) => bearerTokens && authenticators.bearer({ tokens: bearerTokens }),
  jwt({ jwt }) {
    if (!jwt) return undefined
    const { jwksUrl, ...claims } = jwt
    return authenticators.jwt({ ...claims, jwks: jwksUrl })
  },
}

function toAuth(config: ServerAuthConfig): AuthOptions {
  return {
    authenticators: Object.values(schemes).flatMap((scheme) => scheme(config) ?? []),
    ...whenGiven('required', config.required),
  }
}

function toPush({
  enabled = serverDefaults.hasWebhooks,
  allowHttp,
  allow,
}: WebhooksConfig): NonNullable<ServerOptions['pushNotifications']> {
  if (!enabled) return false
  return { guard: { ...whenGiven('allowHttp', allowHttp), ...whenGiven('allow', allow) } }
}

/** Whose store is meant: a configuration's, or another that is named instead. */
interface StoreChoice {
  /** The configuration's file. */
  readonly path: string
  /** Where tasks are kept, whatever the file says: `memory`, a file or a `postgres://` URL. */
  readonly store?: string
}

/** What kind of store a place is. */
function storeKind(place: string): 'memory' | 'sqlite' | 'postgres' {
  if (place === 'memory') return 'memory'
  return isPostgresUrl(place) ? 'postgres' : 'sqlite'
}

/**
 * Tells where a configuration keeps its tasks: `memory`, a file or a URL. What the configuration says of a file is
 * relative to itself.
 */
export function storePlace(config: ServerConfig, { path, store }: StoreChoice): string {
  if (store !== undefined) return store
  if (config.store === undefined) return serverDefaults.store
  return storeKind(config.store) === 'sqlite' ? resolve(dirname(path), config.store) : config.store
}

/** What a store is opened with. */
interface OpenDeps {
  readonly config: ServerConfig
  /** The configuration's file: other files are named relative to it. */
  readonly path: string
  readonly logger?: Logger | false | undefined
}

/**
 * Opens the store at a place, with the limits of the `[server.retention]` table, those of `[server.limits]` in memory, and
 * `[server.postgres]` where it is a database.
 */
async function openStore(place: string, deps: OpenDeps): Promise<Store> {
  const { maxBytes, ...kept } = toRetention(deps.config.retention ?? {})
  switch (storeKind(place)) {
    case 'memory': {
      const { memoryStoreBytes } = resolveLimits(whenGiven('limits', deps.config.limits))
      return createMemoryStore({ ...kept, maxBytes: memoryStoreBytes })
    }
    case 'postgres':
      if (maxBytes !== undefined)
        throw new Error(
          'max_bytes in [server.retention] bounds a file, not a PostgreSQL database: take it out, or use max_age_days or max_tasks',
        )
      return openPostgresStore({ ...kept, ...(await toPostgresOptions(place, deps)) })
    case 'sqlite':
      // What prevents the directory prevents the file too, and is told with the file's name.
      await makeDirectory(dirname(place)).catch(() => {})
      return openSqliteStore(place, {
        ...kept,
        ...whenGiven('maxBytes', maxBytes),
        ...whenGiven('logger', deps.logger),
      })
  }
}

/** The directory of our own is for its user alone: what callers said and the credentials of webhooks are in it. */
async function makeDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true })
  if (basename(path) === ownDirectory) await chmod(path, 0o700)
}

const ownDirectory = '.corral'

const dayMs = 86_400_000

function toRetention({
  maxAgeDays,
  maxTasks,
  maxBytes,
  waitingDays,
}: RetentionConfig): Pick<
  SqliteStoreOptions,
  'maxAgeMs' | 'maxTasks' | 'maxBytes' | 'maxWaitingMs'
> {
  return {
    ...(maxAgeDays !== undefined && { maxAgeMs: maxAgeDays * dayMs }),
    ...whenGiven('maxTasks', maxTasks),
    ...whenGiven('maxBytes', maxBytes),
    ...(waitingDays !== undefined && { maxWaitingMs: waitingDays * dayMs }),
  }
}

async function toPostgresOptions(url: string, deps: OpenDeps): Promise<PostgresStoreOptions> {
  const { readers, tls, ...config } = deps.config.postgres ?? {}
  return {
    url,
    name: `corral ${hostname().slice(0, 40)} ${process.pid}`,
    ...toTimes(config),
    ...whenGiven('schema', config.schema),
    ...whenGiven('sessionUrl', config.sessionUrl),
    ...whenGiven('leaseMs', config.leaseMs),
    ...whenGiven('beatMs', config.beatMs),
    ...whenGiven('lookMs', config.lookMs),
    ...whenGiven('chunkGapMs', config.chunkGapMs),
    ...(readers !== undefined && { pool: { readers } }),
    ...(tls !== undefined && { tls: typeof tls === 'boolean' ? tls : await readTls(tls, deps) }),
    ...whenGiven('logger', deps.logger),
  }
}

function toTimes(
  config: PostgresConfig,
): Pick<PostgresStoreOptions, 'statementTimeoutMs' | 'commitTimeoutMs' | 'foreignBuildAfterMs'> {
  const { statementTimeoutSeconds, commitTimeoutSeconds, foreignBuildAfterSeconds } = config
  const toMs = (seconds: number): number => Math.ceil(seconds * 1000)
  return {
    ...(statementTimeoutSeconds !== undefined && {
      statementTimeoutMs: toMs(statementTimeoutSeconds),
    }),
    ...(commitTimeoutSeconds !== undefined && { commitTimeoutMs: toMs(commitTimeoutSeconds) }),
    ...(foreignBuildAfterSeconds !== undefined && {
      foreignBuildAfterMs:
        foreignBuildAfterSeconds === 'fail' ? 'fail' : toMs(foreignBuildAfterSeconds),
    }),
  }
}

/** The files of `[server.postgres.tls]`. A certificate that does not hold is refused. */
async function readTls(
  { ca, cert, key }: PostgresTlsConfig,
  { path }: OpenDeps,
): Promise<NonNullable<PostgresStoreOptions['tls']>> {
  const read = async (name: string, file: string | undefined): Promise<string | undefined> => {
    if (file === undefined) return undefined
    try {
      return await readFile(resolve(dirname(path), file), 'utf8')
    } catch (cause) {
      throw new Error(`Cannot read ${file}, which ${name} in [server.postgres.tls] names`, {
        cause,
      })
    }
  }
  return {
    ...whenGiven('ca', await read('ca', ca)),
    ...whenGiven('cert', await read('cert', cert)),
    ...whenGiven('key', await read('key', key)),
  }
}

/** How a configuration is offered over MCP. */
export interface McpServeOptions {
  /** The file that the configuration was read from. */
  readonly path: string
  /** Variables that the configuration may name. */
  readonly env: ConfigVariables
  /** Where warnings and errors go; stderr if absent, nowhere where it is `false`. */
  readonly logger?: Logger | false
}

/** A configuration that is offered over MCP. */
export interface McpServing {
  /** Ends it. */
  close(): Promise<void>
}

/**
 * Offers the teams and agents of a configuration as MCP tools over this process's stdin and stdout. Tasks are kept in
 * memory: they live as long as the client that started the process.
 * @throws A2AError `unsupportedOperation` where the package `@modelcontextprotocol/server` is not installed.
 */
export async function serveConfigOverMcp(
  config: Config,
  { path, env, logger: given }: McpServeOptions,
): Promise<McpServing> {
  const directory = dirname(resolve(path))
  const logger = toLogger(given)
  const roster = await createRoster(config, { directory, environment: env, log: logger })
  const { agents, prices } = roster
  const server = await createServer({ agents, logger, ...(prices && { prices }) })
  const offers = await Promise.all(
    roster.agents.map(async (agent) => {
      const { id, name, description, details } = await agent.info()
      const { outputSchema } = details ?? {}
      return { id, name, description, outputSchema, dispatch: server.dispatch(id) }
    }),
  )
  const stdio = await serveMcpStdio({ offers: () => offers })
  return {
    async close() {
      await stdio.close()
      await server.close()
      await roster.close()
    },
  }
}
