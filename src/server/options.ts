import type { Agent, AgentInfo } from '../agents/agent.ts'
import type { AgentFunction } from '../agents/function.ts'
import type { ModelPrices } from '../agents/prices.ts'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import type { GuardOptions } from '../network/guard.ts'
import type { AuthContext } from '../protocol/operations.ts'
import type {
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentInterface,
} from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { LogRecord, Store } from '../store/store.ts'
import type { DeliverySettings, Webhooks } from '../webhooks/webhooks.ts'
import type { Auth, AuthOptions, Visitors } from './access/auth.ts'
import type { LimitOptions, RateLimitOptions } from './access/limits.ts'

/** Which web pages may call from a browser. Credentials are never allowed together with `*`. */
export interface CorsOptions {
  /** Origins of the pages that may call, or `*` for every page, also if absent; an empty list admits the server's own alone. */
  readonly origins?: '*' | readonly string[]
}

/** What a server serves and how. Everything but the agents has a sensible value. */
export interface ServerOptions {
  /** The agents, or functions that answer; the first is reached at the root, each also under `/agents/{id}`. */
  readonly agents: readonly (Agent | AgentFunction)[]
  /** Where tasks are kept; in memory if absent. A store given here is closed by whoever opened it. */
  readonly store?: Store
  /** The URL under which clients reach the server; cards point there. */
  readonly publicUrl?: string
  /** Who may call; anyone if absent. */
  readonly auth?: AuthOptions
  /**
   * Which web pages may call. If absent, every page may read the cards; where only this machine reaches the server,
   * its own pages may do everything.
   */
  readonly cors?: CorsOptions
  /** Further hosts that a server which only this machine reaches answers to: `agents.example`, `inside:8443`. */
  readonly allowedHosts?: readonly string[]
  /**
   * The proxies in front: addresses, ranges (`10.0.0.0/8`) and `loopback`. From these alone `Forwarded` and
   * `X-Forwarded-*` are read: who calls, and, where `publicUrl` is absent, under which of the `allowedHosts`.
   */
  readonly trustedProxies?: readonly string[]
  /** How much is too much: of bytes, turns, connections and more. */
  readonly limits?: LimitOptions
  /** The same as `limits.requests` and `limits.windowSeconds`. */
  readonly rateLimit?: RateLimitOptions
  /** Whether events are sent to webhooks, or how; they are not if absent. */
  readonly pushNotifications?: boolean | PushOptions
  /** Whether answers can be streamed; true if absent. Where it is false the card says so. */
  readonly streaming?: boolean
  /** Makes the card for the authenticated from the public one. */
  readonly extendedCard?: (card: AgentCard, auth: AuthContext) => AgentCard | Promise<AgentCard>
  /** Whether anyone may ask for the extended card; only authenticated callers if absent. */
  readonly openExtendedCard?: boolean
  /**
   * The shape of the public card: one that clients of 0.3 and of 1.0 both read, which is the default, or strictly 1.0.
   */
  readonly card?: 'superset' | 'strict'
  /** Which of the ways in the card shows, and in which order; all if absent. What it leaves out is still served. */
  readonly interfaces?: (all: readonly AgentInterface[]) => readonly AgentInterface[]
  /** Extensions to declare beside those of the agent and of Corral. */
  readonly extensions?: readonly AgentExtension[]
  /** Whether callers may ask for the trace of their tasks; true if absent. Where it is false the card says so. */
  readonly trace?: boolean
  /** Signs the public card. */
  readonly signCard?: (card: AgentCard) => Promise<readonly AgentCardSignature[]>
  /** Which table HTTP statuses follow; specification 1.0.1's if absent. */
  readonly errorTable?: '1.0.0' | '1.0.1'
  /**
   * Whether parts of media types that the card does not name are refused; if absent, where the agent names its own and
   * is not a remote one. `text` stands for `text/*`, `json` and `data` for JSON, `file` for any file.
   */
  readonly enforceInputModes?: boolean
  /**
   * The same as `limits.maxConcurrentTurns`. A turn that waits for a remote agent, a model or an MCP tool does not
   * count.
   */
  readonly concurrency?: number
  /** How long things may take. */
  readonly timeouts?: TimeoutOptions
  /** What models cost, so that answers tell their cost. A team's own prices come first. */
  readonly prices?: ModelPrices
  /** The console, at `/console` and for browsers at the root: `createConsole()` of `corral/console`; none if absent. */
  readonly console?: CreateConsole
  /** Routes of your own, tried before the server's; undefined, at once or promised, passes a request on. */
  readonly routes?: (request: HttpRequest) => HttpReply | undefined | Promise<HttpReply | undefined>
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Where warnings and errors go; stderr if absent, nowhere where it is `false`. */
  readonly logger?: Logger | false
}

/** How long things may take, in milliseconds. */
export interface TimeoutOptions {
  /** A blocking send of 0.3 and 1.0 answers with the task as it is after this long; 300,000. */
  readonly blockingMs?: number
  /** Quiet streams get a comment this often; 15,000. */
  readonly heartbeatMs?: number
  /** How long `close` lets running turns end; 10,000. */
  readonly shutdownMs?: number
}

/** How webhooks are delivered, and which addresses they may reach. */
export interface PushOptions extends DeliverySettings {
  /** Where webhooks may lead beyond https to public addresses; nowhere else if absent. */
  readonly guard?: GuardOptions
}

/** What a console knows of the server that it belongs to. */
export interface ConsoleHost {
  /** Where the server's tasks are kept. */
  readonly store: Store
  /** Webhooks, where they are on. */
  readonly webhooks: Webhooks | undefined
  /** The agents served now, the first of them at the root. */
  readonly mounts: ReadonlyMap<string, ShownAgent>
  /** How callers are authenticated. */
  readonly auth: Auth
  /** Who asks for a page. */
  readonly visitors: Visitors
  readonly clock: Clock
  readonly logger: Logger
  /** The server's options that concern a console. */
  readonly options: ConsoleSettings
  /** The URL that cards point to. */
  url(): string
  /** Whether the agents of this server can answer now, as `/health` says it. */
  health(id: string): Promise<{ readonly healthy: boolean; readonly reason?: string }>
  /** Calls a function with each stored batch of a task's records, until the returned function is called. */
  onStored(listener: StoredListener): () => void
}

/** A served agent as a console shows it. */
export interface ShownAgent {
  readonly id: string
  /** The agent itself. */
  agent(): Agent
  /** Where it is reached and who it says it is. */
  readonly identity: {
    /** The agent's own URL, on the server's URL or another by which it is known. */
    base(server?: string): string
    /** Who the agent says it is, as far as that is known. */
    known(): AgentInfo
  }
}

/** The options of a server that concern its console. */
export interface ConsoleSettings {
  /** False where the trace is shown to nobody but operators. */
  readonly trace?: boolean
  readonly publicUrl?: string
  readonly allowedHosts?: readonly string[]
  readonly trustedProxies?: readonly string[]
}

/** Is told which records of a task were stored. */
export type StoredListener = (taskId: string, records: readonly LogRecord[]) => void

/** The console of a server: what answers for its page. */
export interface ServerConsole {
  /** Answers below `/console`; `isLocal` tells that only this machine reaches the server. */
  handle(request: HttpRequest, isLocal: boolean): HttpReply | Promise<HttpReply>
  /** Answers a browser at the root; undefined where it is none, or nobody has built the page. */
  root(request: HttpRequest): HttpReply | undefined
  /** Whether a URL, or a path here, is one of the console's own receivers, which webhooks may call wherever the server is. */
  isReceiver(url: string): boolean
  /** Takes in what a webhook has for a receiver of the console and gives the HTTP status; undefined for another URL. */
  receive(delivery: ReceivedDelivery): number | undefined
  /** Ends what it has open. May be called twice. */
  close(): Promise<void>
}

/** A webhook's delivery that the console itself receives, to show it. */
export interface ReceivedDelivery {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Makes the console of a server: the `console` option of `createServer`, as `createConsole` gives it. */
export type CreateConsole = (host: ConsoleHost) => ServerConsole
