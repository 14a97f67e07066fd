import type { Agent, AgentInfo } from '../agents/agent.ts'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { LogRecord, Store } from '../store/store.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Auth } from './auth.ts'
import type { Visitors } from './visitors.ts'

/** What a console sees of the server that it belongs to. */
export interface ConsoleHost {
  readonly store: Store
  /** Webhooks, where they are on. */
  readonly webhooks: Webhooks | undefined
  /** The agents served now, the first of them at the root. */
  readonly mounts: ReadonlyMap<string, ShownAgent>
  readonly auth: Auth
  readonly visitors: Visitors
  readonly clock: Clock
  readonly logger: Logger
  readonly options: ConsoleSettings
  /** The URL that cards point to. */
  url(): string
  /** Whether the agents of this server can answer now, as `/health` says it. */
  health(id: string): Promise<{ readonly healthy: boolean; readonly reason?: string }>
  /** Calls a function with each stored batch of a task's records, until the returned one is called. */
  onStored(listener: StoredListener): () => void
}

/** A served agent as a console shows it. */
export interface ShownAgent {
  readonly id: string
  agent(): Agent
  readonly identity: {
    /** The agent's own URL, on the server's URL or another by which it is known. */
    base(server?: string): string
    known(): AgentInfo
  }
}

/** What a console goes by of the options of its server. */
export interface ConsoleSettings {
  /** False where the trace is shown to nobody but operators. */
  readonly trace?: boolean
  readonly publicUrl?: string
  readonly allowedHosts?: readonly string[]
  readonly trustedProxies?: readonly string[]
}

/** Is told which records of a task were stored. */
export type StoredListener = (taskId: string, records: readonly LogRecord[]) => void

/** The page in which people see a server at work, and what it asks for. */
export interface ServerConsole {
  /** Answers below `/console`; `isLocal` tells that only this machine reaches the server. */
  handle(request: HttpRequest, isLocal: boolean): HttpReply | Promise<HttpReply>
  /** Answers a browser at the root; undefined where it is none, or nobody has built the page. */
  root(request: HttpRequest): HttpReply | undefined
  /** Whether a URL is one of the console's own receivers, which webhooks may call wherever the server is. */
  isReceiver(url: string): boolean
  /** Takes in what a webhook has for a receiver of the console and gives the HTTP status; undefined for another URL. */
  receive(delivery: ReceivedDelivery): number | undefined
  /** Ends what it has open. Idempotent. */
  close(): Promise<void>
}

/** A delivery of this server's webhooks to a receiver of its console. */
export interface ReceivedDelivery {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Makes the console of a server: what `createConsole` of `corral/console` gives. */
export type CreateConsole = (host: ConsoleHost) => ServerConsole
