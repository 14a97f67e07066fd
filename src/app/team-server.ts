import { type ConsoleOptions, createConsole } from '../console/console.ts'
import { runServer, type StartedServer } from '../server/node/run.ts'
import type { CorsOptions, ServerOptions } from '../server/options.ts'
import { createServer, serverOptions } from '../server/server.ts'
import { createDeferred } from '../shared/async.ts'
import { announce, toLogger } from '../shared/log.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import type { Team } from '../team/team.ts'
import { validateTeam } from '../team/validate.ts'

/** Where a TeamServer is in its life. */
export type TeamServerState = 'Initialized' | 'Binding' | 'Running' | 'Shutdown'

/** How a team is served; everything has a sensible value. */
export interface TeamServerOptions extends Omit<ServerOptions, 'agents' | 'console'> {
  /** All interfaces if absent; a warning is logged where anyone may call. */
  readonly host?: string
  /** Every page may call if absent. */
  readonly cors?: CorsOptions
  /** The same as `limits.maxBodyBytes`. */
  readonly maxBodyBytes?: number
  /** Whether there is a console at `/console`, or how it behaves; none if absent. */
  readonly console?: boolean | ConsoleOptions
}

const { agents: _, ...sharedOptions } = serverOptions

const teamServerOptions: OptionTable<TeamServerOptions> = {
  ...sharedOptions,
  host: 'string',
  maxBodyBytes: 'number',
  console: 'boolean|object',
}

const teamParts = { config: 'object!', manager: 'object!' }

/**
 * Serves one team over HTTP, on every wire that Corral speaks. `start` resolves when it listens; the process then lives
 * until `shutdown`, which `stopped` waits for.
 */
export class TeamServer {
  /** The team that it serves. */
  readonly team: Team
  readonly #port: number
  readonly #options: TeamServerOptions
  readonly #stopped = createDeferred<void>()
  #state: TeamServerState = 'Initialized'
  #starting: Promise<StartedServer> | undefined
  #running: StartedServer | undefined

  /** @throws InvalidTeamError for a team whose members are not all registered; RangeError for what is not a port. */
  constructor(team: Team, port: number, options: TeamServerOptions = {}) {
    checkArgument('TeamServer', 'the team', team, 'object')
    checkOptions('TeamServer: the team', { config: team.config, manager: team.manager }, teamParts)
    checkOptions('TeamServer', options, teamServerOptions)
    validateTeam(team.config, team.manager)
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new RangeError(`A port is a whole number from 0 to 65535, not ${port}`)
    this.team = team
    this.#port = port
    this.#options = options
  }

  /** Where it is in its life. */
  get state(): TeamServerState {
    return this.#state
  }

  /** The port it listens on; the one asked for as long as it does not. */
  get port(): number {
    return this.#running?.port ?? this.#port
  }

  /** The base URL that cards point to, once it listens. */
  get url(): string | undefined {
    return this.#running?.url
  }

  /**
   * Binds the port and takes up what an earlier process left.
   * @throws Error that says so when the port is in use; the server can then be started again.
   */
  async start(): Promise<void> {
    if (this.#state !== 'Initialized') throw new Error(`The server is ${this.#state} already`)
    this.#state = 'Binding'
    try {
      this.#starting = this.#run()
      this.#running = await this.#starting
      this.#leaveBinding('Running')
    } catch (error) {
      this.#leaveBinding('Initialized')
      throw error
    }
  }

  /**
   * Stops gracefully: no more messages, running turns end, streams close. One that is starting is stopped too. May be
   * called twice.
   */
  async shutdown(): Promise<void> {
    this.#state = 'Shutdown'
    const running = await this.#starting?.catch(() => undefined) // who started it hears of that
    await running?.close()
    this.#stopped.resolve()
  }

  /** Shuts down, and closes the team: programs that its members started end, and it cannot be served again. */
  async close(): Promise<void> {
    await this.shutdown()
    await this.team.close()
  }

  /** Resolves when the server has been shut down. */
  stopped(): Promise<void> {
    return this.#stopped.promise
  }

  /** A shutdown in between stays one. */
  #leaveBinding(state: TeamServerState): void {
    if (this.#state === 'Binding') this.#state = state
  }

  async #run(): Promise<StartedServer> {
    const { host = '0.0.0.0', maxBodyBytes, console, ...options } = this.#options
    const { clock, store } = options
    const logger = toLogger(options.logger)
    announce(options.logger, `Starting TeamServer on ${host}:${this.#port}`)
    const server = await createServer({
      cors: { origins: '*' },
      ...options,
      agents: [this.team],
      ...(console && {
        console: createConsole({ ...(!store && { store: 'memory' }), ...Object(console) }),
      }),
    })
    return runServer(server, {
      port: this.#port,
      host,
      logger,
      openWarning: 'Anyone who can reach this machine may use the team: no auth is set',
      ...(clock && { clock }),
      ...(maxBodyBytes !== undefined && { maxBodyBytes }),
    })
  }
}
