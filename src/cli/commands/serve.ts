import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { type Command, Option } from 'commander'
import type { Agent } from '../../agents/index.ts'
import { storePlace, type UnreachableAgent } from '../../app/serve.ts'
import { createDeferred } from '../../shared/async.ts'
import { systemClock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { isPostgresUrl } from '../../store/postgres/connection.ts'
import { type Serving, serveConfig, serveConfigOverMcp } from '../../team/index.ts'
import {
  addCommand,
  allowUnauthenticated,
  exits,
  readConfig,
  readVariables,
  toCount,
  toPort,
  variablesHelp,
} from '../command.ts'
import { CliError, ownName } from '../errors.ts'
import { createLogger, type LoggerOptions, logLevels, stdout } from '../screen.ts'

/** Adds `corral serve`. */
export function addServeCommand(program: Command): void {
  const command = addCommand(program, {
    usage: 'serve <file>',
    description:
      'serve the teams and agents of a file: the first team at the root, all of them under /agents/{id}',
    examples: [
      'corral serve team.toml',
      'corral serve team.toml --port 8080 --watch',
      'corral serve team.toml --store /var/lib/corral/tasks.db --log-level warn',
      'corral serve team.toml --store postgres://corral@db.internal/corral',
    ],
  })
  addServeOptions(command)
    .option(
      '--store <memory|path|url>',
      'where tasks are kept; postgres://… for several replicas (default: .corral/tasks.db)',
    )
    .option('--team <id>', "the team or agent at the root (default: the file's first team)")
    .option('--watch', 'take over changes of the file, its modules and their imports')
    .option('--env <file>', variablesHelp)
    .option('--workers <n>', 'processes that share the port; needs --store postgres://…', toCount)
    .action(exits((file: string, flags: ServeFlags) => serveUntilStopped(file, flags)))
}

/** How something is served, as the command line says it. */
export interface ServeFlags {
  readonly port?: number
  readonly host?: string
  readonly allowUnauthenticated?: boolean
  readonly store?: string
  readonly team?: string
  readonly watch?: boolean
  readonly env?: string
  readonly workers?: number
  readonly logLevel: LoggerOptions['level']
  readonly json?: boolean
  readonly debug?: boolean
}

/** Adds the options of commands that serve. */
export function addServeOptions(command: Command): Command {
  return command
    .option('--port <n>', 'port; 0 takes any free one (default: 3000)', toPort)
    .option('--host <name>', 'interface (default: 127.0.0.1)')
    .option('--allow-unauthenticated', allowUnauthenticated)
    .addOption(
      new Option('--log-level <level>', 'how much is logged').choices(logLevels).default('info'),
    )
}

/** What is served besides a file. */
interface Extras {
  readonly agents: readonly Agent[]
  /** How long their turns may still take when it stops. */
  readonly shutdownMs: number
  /** Called when it is served, before anybody is told. */
  prepare(serving: Serving): Promise<void>
  /** Called when people have been told. */
  ready(serving: Serving): Promise<void>
}

/** Serves a file until a signal ends it. */
export async function serveUntilStopped(
  path: string,
  flags: ServeFlags,
  extras?: Extras,
): Promise<number> {
  const worker = workerNumber()
  const logger = createLogger({ level: flags.logLevel, debug: flags.debug ?? false, worker })
  const env = await readVariables(flags.env)
  const config = await readConfig(path, env)
  const allowed = flags.allowUnauthenticated ?? config.server.allowUnauthenticated ?? false
  const place = { path, env, ...placeOf(flags) }
  const { workers = 1 } = flags
  if (workers > 1) mustShare(storePlace(config.server, place), workers)
  if (workers > 1 && worker === undefined) return new Workers(workers, logger).run()
  const more = extras ? { agents: extras.agents, shutdownMs: extras.shutdownMs } : {}
  const options = { ...place, ...more, logger, signals: true, allowUnauthenticated: allowed }
  const serving = await serveConfig(config, options)
  await extras?.prepare(serving)
  const words = flags.json ? toJson(serving, workers) : toBanner(serving, workers)
  if (worker === undefined) stdout.write(words)
  else tellServed(words)
  await extras?.ready(serving)
  tellUnreachable(serving, flags.json || worker !== undefined ? logger : undefined)
  await serving.stopped
  logger.info({}, 'Stopped')
  // An agent's own timers must not keep the process.
  process.exit(0)
}

/** One process has a file or a memory to itself. */
function mustShare(place: string, workers: number): void {
  if (isPostgresUrl(place)) return
  const what = place === 'memory' ? 'memory' : `the file ${place}`
  throw new CliError(`${workers} workers cannot share ${what}: one process has it to itself`, {
    hint: 'Keep tasks in PostgreSQL: --store postgres://…; "corral store copy FROM TO" takes them there. Or leave --workers away.',
  })
}

function placeOf({ port, host, store, team, watch }: ServeFlags): Partial<Omit<ServeFlags, 'env'>> {
  return {
    ...(port !== undefined && { port }),
    ...(host !== undefined && { host }),
    ...(store !== undefined && { store }),
    ...(team !== undefined && { team }),
    ...(watch !== undefined && { watch }),
  }
}

/** Asks in the background: a member that is down does not keep the others waiting. */
function tellUnreachable({ findUnreachable }: Serving, logger: Logger | undefined): void {
  const tell = (dead: readonly UnreachableAgent[]): void => {
    for (const { id, host, reason } of dead)
      logger?.warn({ agent: id, host, reason }, 'A member does not answer')
    if (logger || dead.length === 0) return
    const lines = dead.map(({ id, host, reason }) =>
      toPrintableLine(`  ${id} at ${host}: ${reason}`),
    )
    const next = 'They are asked again with every message. Start them, or correct their endpoint.'
    stdout.write(['Members that do not answer:', ...lines, next, '', ''].join('\n'))
  }
  findUnreachable().then(tell, (err) => logger?.warn({ err }, 'Members could not be asked'))
}

function toJson(serving: Serving, workers: number): string {
  const { root, listening, store, recovery } = serving
  const { url, host, port } = listening
  const agent = { id: root.id, name: root.name }
  const facts = { url, host, port, agent, places: placesOf(serving), store, recovery }
  const shared = workers > 1 && { workers }
  return `${JSON.stringify({ ...facts, ...shared })}\n`
}

/** Where things answer, by what speaks there. */
function placesOf({ listening: { url }, hasConsole }: Serving): Readonly<Record<string, string>> {
  return {
    ...(hasConsole && { console: `${url}/console/` }),
    card: `${url}/.well-known/agent-card.json`,
    jsonrpc: `${url}/`,
    rest: `${url}/message:send`,
    ranch: `${url}/rpc`,
    openai: `${url}/v1/chat/completions`,
    mcp: `${url}/mcp`,
    agents: `${url}/agents`,
    health: `${url}/health`,
  }
}

function toBanner(serving: Serving, workers: number): string {
  const { root, server, listening, store, recovery, hasConsole } = serving
  const { url } = listening
  const { resumed, failed } = recovery
  const places = Object.entries(placesOf(serving))
  const message = '{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Hello"}]}'
  const rpc = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":${message}}}`
  const credentials = server.open ? '' : " -H 'Authorization: Bearer TOKEN'"
  return [
    ...(hasConsole ? [`Open ${url}/console/ to see it work (ready in ${startSeconds()} s)`] : []),
    toPrintableLine(`${root.name} is served at ${url}`),
    '',
    ...places.map(([name, place]) => `  ${name.padEnd(8)} ${place}`),
    `  store    ${store}`,
    ...(workers > 1 ? [`  workers  ${workers}`] : []),
    ...(resumed + failed > 0
      ? ['', `From before: ${resumed} tasks taken up again, ${failed} could not be`]
      : []),
    '',
    'Try:',
    `  ${ownName()} chat ${url}`,
    `  curl -s ${url}/ -H 'A2A-Version: 1.0' -H 'Content-Type: application/json'${credentials} -d '${rpc}'`,
    '',
    '',
  ].join('\n')
}

/** How long it took from `npm start`, its build included, or from the start of this process. */
function startSeconds(): string {
  const began = Number(process.env.CORRAL_BEGAN)
  const ms = began > 0 ? systemClock.now() - began : systemClock.elapsed()
  return (ms / 1000).toFixed(1)
}

/** What a worker says once it serves: what a single process would have written to stdout. */
interface Ready {
  readonly ready: string
}

/** The number of this process where it is a worker. Its line to the one that started it does not keep it from ending. */
function workerNumber(): number | undefined {
  if (cluster.isWorker) process.channel?.unref()
  return cluster.worker?.id
}

/** Tells the process that started this one that it serves. */
function tellServed(words: string): void {
  process.send?.({ ready: words } satisfies Ready)
}

/** How soon one that died is replaced; twice as long each time while they die young. */
const firstDelayMs = 100

const maxDelayMs = 5_000

/** One that lived for longer has not died of how it was started. */
const youngMs = 10_000

/**
 * Runs the same command in so many processes, which share its port: connections go round between them. One that dies is
 * replaced. A signal ends all of them gracefully, a later one at once.
 */
class Workers {
  readonly #count: number
  readonly #logger: Logger
  readonly #done = createDeferred<number>()
  readonly #living = new Set<Worker>()
  readonly #serving = new Set<Worker>()
  #words: string | undefined
  #isTold = false
  #ending: number | undefined
  #delayMs = firstDelayMs
  #callOff: (() => void)[] = []

  constructor(count: number, logger: Logger) {
    this.#count = count
    this.#logger = logger
  }

  /**
   * Resolves with the exit code once all have ended. If one cannot even start, the others are ended too, and its code is
   * the result.
   */
  async run(): Promise<number> {
    const onSignal = (signal: NodeJS.Signals): void => this.#end(signal, 0)
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
    for (let i = 0; i < this.#count; i++) this.#start()
    this.#logger.info({ workers: this.#count }, 'Starting workers')
    try {
      return await this.#done.promise
    } finally {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    }
  }

  #start(): void {
    const worker = cluster.fork()
    const startedAt = systemClock.elapsed()
    this.#living.add(worker)
    worker.on('message', (message: Ready) => this.#ready(worker, message.ready))
    worker.on('exit', (code, signal) => {
      this.#living.delete(worker)
      const served = this.#serving.delete(worker)
      if (this.#ending === undefined) {
        this.#logger.warn({ worker: worker.id, code, signal }, 'A worker has ended')
        if (!this.#isTold && !served) this.#end('SIGTERM', code || 2)
        else this.#replace(systemClock.elapsed() - startedAt)
      }
      // One that a later signal ended at once.
      if (this.#ending === 0 && code) this.#ending = code
      if (this.#ending !== undefined && this.#living.size === 0) this.#done.resolve(this.#ending)
    })
  }

  #ready(worker: Worker, words: string): void {
    this.#serving.add(worker)
    this.#words ??= words
    if (this.#isTold || this.#serving.size < this.#count) return
    this.#isTold = true
    stdout.write(this.#words)
  }

  #replace(livedMs: number): void {
    this.#delayMs = livedMs < youngMs ? Math.min(this.#delayMs * 2, maxDelayMs) : firstDelayMs
    const callOff = systemClock.after(this.#delayMs, () => {
      this.#callOff = this.#callOff.filter((one) => one !== callOff)
      this.#start()
    })
    this.#callOff.push(callOff)
  }

  /** Passes a signal on; each process knows what a first and a later one mean. */
  #end(signal: NodeJS.Signals, code: number): void {
    if (this.#ending === undefined)
      this.#logger.info({ signal, workers: this.#living.size }, 'Stopping the workers')
    this.#ending ??= code
    for (const callOff of this.#callOff.splice(0)) callOff()
    for (const worker of this.#living) worker.process.kill(signal)
    if (this.#living.size === 0) this.#done.resolve(this.#ending)
  }
}

/** Adds `corral mcp`. */
export function addMcpCommand(program: Command): void {
  addCommand(program, {
    usage: 'mcp <file>',
    description:
      'offer the teams and agents of a file as MCP tools over stdin and stdout, for programs that start MCP servers; needs the package @modelcontextprotocol/server',
    examples: ['corral mcp team.toml'],
  })
    .option('--env <file>', variablesHelp)
    .action(exits(mcpCommand))
}

interface McpFlags {
  readonly debug?: boolean
  readonly env?: string
}

/** Stdout is the protocol's, so everything else goes to stderr. */
async function mcpCommand(file: string, { debug = false, env: path }: McpFlags): Promise<number> {
  const logger = createLogger({ level: 'warn', debug })
  const env = await readVariables(path)
  const config = await readConfig(file, env)
  const offered = await serveConfigOverMcp(config, { path: file, env, logger })
  const left = new AbortController()
  const { signal } = left
  const events = [once(process.stdin, 'end', { signal }), once(process.stdin, 'close', { signal })]
  const signals = [once(process, 'SIGINT', { signal }), once(process, 'SIGTERM', { signal })]
  await Promise.race([...events, ...signals])
  left.abort()
  await Promise.allSettled([...events, ...signals])
  await offered.close()
  process.exit(0)
}
