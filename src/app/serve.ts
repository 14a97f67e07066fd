import { dirname, resolve } from 'node:path'
import type { Agent, AgentInfo } from '../agents/agent.ts'
import type { ModelPrices } from '../agents/prices.ts'
import { type Listening, runServer, type StartedServer } from '../server/run.ts'
import { createServer, type Server } from '../server/server.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import { nearest } from '../shared/nearest.ts'
import { readUrl } from '../shared/url.ts'
import { toShownStore } from '../store/postgres/url.ts'
import type { Store } from '../store/store.ts'
import { serverDefaults } from './config/defaults.ts'
import type { Config } from './config/file.ts'
import type { ConfigVariables } from './config/values.ts'
import { createGeneration, type Generation } from './generation.ts'
import { openStore, storeKind, storePlace } from './open-store.ts'
import { type BuildDeps, createRoster, rosterWarnings } from './roster.ts'
import { toListenOptions, toServerOptions } from './server-options.ts'
import { watchConfig } from './watch.ts'

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
      const later = createGeneration(roster, logger)
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
  return createGeneration(roster, logger)
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
