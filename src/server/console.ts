import type { Agent, AgentInfo } from '../agents/agent.ts'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { LogRecord, Store } from '../store/store.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Auth } from './auth.ts'
import type { Visitors } from './visitors.ts'

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
