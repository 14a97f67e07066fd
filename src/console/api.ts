import type { FieldViolation } from '../protocol/errors.ts'
import type { Explanation } from '../protocol/failure.ts'
import type { OperationName } from '../protocol/operations.ts'
import type {
  AgentCard,
  Json,
  JsonObject,
  Message,
  StreamResponse,
  TaskState,
} from '../protocol/types.ts'

/*
 * The JSON that the console's page and server exchange under `/console/api`. Times are ISO 8601, durations are in
 * milliseconds. Refusals have an HTTP status and the body `ApiRefusal`; a 401 says by `logins` what to ask the user for.
 * The page itself is built into `dist/console/page`: `index.html`, and `assets/*` with hashes in their names.
 */

/** Why a request of the page was refused. */
export interface ApiRefusal {
  readonly error: {
    /** An error code of the protocol, such as `unauthenticated`. */
    readonly code: string
    /** A sentence for the user: what is wrong and what to do. */
    readonly message: string
    /** On 401 alone: by which headers the server takes credentials, the usual one first. */
    readonly logins?: readonly Login[]
    /** Why, in the error's own words; for those who may read them. */
    readonly why?: Explanation
  }
}

/** A way to sign in: the header, and what stands before the credential in it (`Bearer `), empty for API keys. */
export type Login = { readonly label: string; readonly header: string; readonly prefix: string }

/** `GET roster`: all that Home needs. */
export interface ConsoleRoster {
  readonly server: ServerFacts
  readonly me: Me
  readonly totals: TaskTotals
  /** What is served, in the order of the catalogue; the first also answers at the root. */
  readonly agents: readonly RosterAgent[]
  /** Tasks that wait for this caller, longest first; at most 50. */
  readonly needsYou: readonly NeedsYou[]
}

/** What runs here. */
export interface ServerFacts {
  readonly version: string
  /** Where the agents answer, without a path; public if the server knows its public address. */
  readonly url: string
  /** The kind of store: `memory`, `sqlite`, `postgres`, or `custom`. */
  readonly store: string
  readonly startedAt: string
}

/** Who asks. */
export interface Me {
  /** Empty for a caller without credentials. */
  readonly name: string
  readonly scopes: readonly string[]
  /** Whether the caller sees the tasks of all. */
  readonly operator: boolean
  /** Whether this server asks for credentials. */
  readonly login: boolean
}

/** Counts over the tasks that the caller may see. */
export interface TaskTotals {
  readonly running: number
  /** Tasks that wait for input or a login. */
  readonly waiting: number
  readonly completed: number
  readonly failed: number
  readonly tokens: number
  /** In US dollars, so far as there were prices. */
  readonly costUsd?: number
}

/** An agent or team that is served here. */
export interface RosterAgent extends TaskTotals {
  readonly id: string
  readonly name: string
  readonly description: string
  /** `team`, or the kind of agent: `model`, `remote`, `mcp`, `module`, `function`, `echo`, … */
  readonly kind: string
  /** Its own base URL: its card and operations are below it. */
  readonly url: string
  readonly health: 'healthy' | 'sick' | 'unknown'
  /** Why it is sick. */
  readonly reason?: string
  /** A team's members; empty for an agent. */
  readonly members: readonly string[]
  /** A team's way of working: `workflow`, `supervisor`, `router`, or the user's own. */
  readonly scheduler?: string
  /** Median duration of finished tasks. */
  readonly p50Ms?: number
  /** Tasks that ended per slice of the last hour, oldest slice first, 30 at most: the sparkline. */
  readonly recent?: readonly number[]
  /** What to ask it first, from its card. */
  readonly examples?: readonly string[]
}

/** A task that waits for a person. */
export interface NeedsYou {
  readonly task: ListedTask
  /** `approval` is answered by approving or rejecting, `input` by a text, `login` by signing in elsewhere. */
  readonly kind: 'approval' | 'input' | 'login'
  /** Whether an approval takes words that are neither a yes nor a no, as feedback for an earlier step. */
  readonly feedback?: boolean
  /** The status message of the task: the question. */
  readonly question?: Message
}

/** A task in a list. */
export interface ListedTask {
  readonly id: string
  readonly contextId: string
  /** The id of the agent or team that it belongs to. */
  readonly agent: string
  readonly state: TaskState
  /** When that state was entered. */
  readonly at: string
  /** The first words of the user's first message, in one line. */
  readonly words: string
  /** Whether it is the caller's own: may be answered and cancelled. */
  readonly mine: boolean
  readonly tokens?: number
  /** In US dollars, so far as there were prices. */
  readonly costUsd?: number
  /** Whose it is; for `operator` alone. */
  readonly owner?: string
}

/** The query of `GET tasks`; without a cursor the newest page. */
export interface TasksQuery {
  readonly agent?: string
  readonly state?: TaskState
  /** A context's id. */
  readonly context?: string
  /** Found in the first words or the id. */
  readonly text?: string
  readonly cursor?: string
  /** 50 by default, at most 200. */
  readonly limit?: number
}

/** `GET tasks`: tasks of all agents that the caller may see, newest status first. */
export interface TasksAnswer {
  readonly rows: readonly ListedTask[]
  /** The cursor of the next page; absent on the last. */
  readonly next?: string
  /** All that match, where the store can tell. */
  readonly total?: number
}

/** `GET tasks/ID`: a task without its log. */
export interface TaskAnswer extends ListedTask {
  readonly agentName: string
  readonly createdAt?: string
  /** Whether a turn runs or a message waits. */
  readonly busy: boolean
  /** The last sequence number of its log. */
  readonly version: number
  /** Whether the log holds trace entries that the caller may see. */
  readonly trace: boolean
  /** The conversation, the user's messages too. */
  readonly history: readonly Message[]
  /** What a run of its team may cost, in US dollars. */
  readonly maxCostUsd?: number
  /** What failed, and why: what ended the task first; for those who may read the words of errors. */
  readonly why?: readonly Explanation[]
  /** The webhooks of the task, without secrets. */
  readonly webhooks?: readonly ShownWebhook[]
}

/** A webhook of a task and how far it is. */
export interface ShownWebhook {
  readonly taskId: string
  readonly id: string
  readonly agent: string
  /** Without query and credentials. */
  readonly url: string
  readonly dialect: string
  /** The last sequence number delivered or passed over. */
  readonly cursor: number
  /** Records that it is behind the log. */
  readonly lag: number
  readonly state: 'done' | 'delivering' | 'waiting'
  /** When it is tried again. */
  readonly nextAt?: string
  /** The last attempts, newest first, at most 10; since the server started. */
  readonly attempts: readonly WebhookAttempt[]
}

/** One attempt at a delivery. */
export interface WebhookAttempt {
  readonly at: string
  readonly seq: number
  /** The HTTP status, where there was an answer. */
  readonly status?: number
  readonly durationMs?: number
  /** Why it failed; absent where it was delivered. */
  readonly failure?: string
}

/** `GET tasks/ID/records?after=&limit=`: a stretch of a task's log; 500 by default, at most 2,000. */
export interface RecordsAnswer {
  readonly records: readonly TaskRecord[]
  /** The last sequence number looked at: ask again after it. */
  readonly upTo: number
  /** The last sequence number of the log. */
  readonly version: number
}

/** An entry of a task's log; numbers that are missing are entries that the caller may not see. */
export type TaskRecord =
  | { readonly seq: number; readonly kind: 'event'; readonly event: StreamResponse }
  /** An entry of the trace extension, made `at`; nested teams' entries have `path`. */
  | {
      readonly seq: number
      readonly kind: 'trace'
      readonly at: string
      readonly entry: JsonObject
    }
  /** A user's message; for `operator` alone. */
  | { readonly seq: number; readonly kind: 'message'; readonly message: Message }
  /** Any other record, by the name of its kind; for `operator` alone. */
  | { readonly seq: number; readonly kind: 'internal'; name: string; readonly data: JsonObject }

/** `GET tasks/ID/wire?dialect=`: the exchange of a task as one wire writes it, at most 200 frames. */
export interface WireAnswer {
  readonly dialect: WireDialect
  readonly frames: readonly WireFrame[]
  /** Frames left out at the end. */
  readonly more: number
}

/** The wires in which an exchange can be shown, as `dialect=` names them. */
export type WireDialect = '1.0' | 'rest' | '0.3' | '1.0-rc' | 'ranch' | 'openai' | 'webhook'

/** One request, answer, event of a stream, or webhook body. */
export interface WireFrame {
  /** The record it stems from; absent for a request. */
  readonly seq?: number
  readonly direction: 'request' | 'answer'
  /** `POST https://host/path` for a request or webhook; `200` or `event` for an answer. */
  readonly title: string
  /** Headers that matter; credentials are shown as `…`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Json
}

/** `GET webhooks`: queues and dead letters of the tasks that the caller may see. */
export interface WebhooksAnswer {
  readonly queues: readonly ShownWebhook[]
  readonly deadLetters: readonly DeadLetterRow[]
}

/** A delivery that was given up. */
export interface DeadLetterRow {
  readonly id: string
  readonly taskId: string
  readonly configId: string
  readonly url: string
  readonly seq: number
  readonly attempts: number
  readonly reason: string
  readonly at: string
}

/** The body of `POST webhooks/redrive`: dead letters to try once more, at most 100. */
export type RedriveRequest = { readonly ids: readonly string[] }

/** What became of them, in order. */
export interface RedriveAnswer {
  readonly results: readonly { id: string; delivered: boolean; reason?: string }[]
}

/** The body of `POST relay`: something to ask of an agent elsewhere, through this server. */
export type RelayRequest = (
  | { readonly kind: 'card' }
  | { readonly kind: 'check' }
  /** One operation; those that stream answer as `text/event-stream`, each `data` a StreamResponse. */
  | {
      readonly kind: 'call'
      readonly operation: OperationName
      readonly request: JsonObject
      /** For `SubscribeToTask`: the last event that was seen. */
      readonly lastEventId?: string
    }
) & {
  /** The agent's base URL or the URL of its card. */
  readonly url: string
  /** The value of an `Authorization` header for that agent; not kept. */
  readonly authorization?: string
}

/** The answer to a relayed `card`. */
export interface RelayCard {
  readonly card: AgentCard
  /** Where the card was found. */
  readonly cardUrl: string
  /** `A2A 1.0 · JSONRPC` and so on: how this server would call it. */
  readonly speaks: string
  readonly signature: SignatureVerdict
  /** What is wrong with the card; empty for a good one. */
  readonly faults: readonly FieldViolation[]
}

/** What the signatures of a card are worth. */
export interface SignatureVerdict {
  readonly verdict: 'unsigned' | 'valid' | 'invalid' | 'unknown-key'
  /** A sentence for people. */
  readonly detail: string
  readonly keyId?: string
}

/** The answer to a relayed `check`: what the agent does as the protocol demands, and what not. */
export interface AgentReport {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly checks: readonly { name: string; verdict: 'pass' | 'fail' | 'skip'; detail?: string }[]
}

/** The answer to a relayed `call` that does not stream. */
export type RelayAnswer = { readonly result: Json }

/** The answer to `POST receiver`, then empty, and to `GET receiver/ID`. */
export interface TrialReceiver {
  readonly id: string
  /** Where to send webhooks to; open to everybody who knows it. */
  readonly url: string
  readonly expiresAt: string
  /** What arrived, newest first. */
  readonly bodies: readonly ReceivedBody[]
}

/** One request to a receiver. */
export type ReceivedBody = { at: string; headers: Readonly<Record<string, string>>; body: string }

/** One event of `GET events` (`text/event-stream`): a task that the caller may see was made or changed. */
export type TaskChange = { readonly task: ListedTask; readonly version: number }

/** `GET edges/TEAM`: what went over the edges of a team and its nested teams, from the logs of its last tasks. */
export interface TeamEdges {
  readonly edges: readonly EdgeFacts[]
  /** How many tasks were read. */
  readonly tasks: number
  /** What they cost together, and the dearest of them, where it is known. */
  readonly costUsd?: number
  readonly dearestUsd?: number
}

/** What went over one edge. */
export interface EdgeFacts {
  /** The team, or the nested one, that the edge belongs to. */
  readonly team: string
  /** A node's id; empty where the team's caller asked. */
  readonly from: string
  readonly to: string
  readonly count: number
  readonly failures: number
  readonly p50Ms?: number
  /** Calls under way now. */
  readonly running: number
  /** The last messages over it, newest first, at most 10. */
  readonly last: readonly EdgeMessage[]
}

/** One call over an edge. */
export interface EdgeMessage {
  readonly taskId: string
  readonly seq: number
  readonly at: string
  readonly question: string
  readonly answer?: string
  readonly durationMs?: number
  readonly costUsd?: number
  /** Why it failed. */
  readonly failure?: string
}

/** The part of `api.ts` that draws teams: what a definition says (`graph/ID`), and what went over the edges (`edges/TEAM`). */

/** `GET graph/ID`: the definition of a team. */
export interface TeamGraph {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly scheduler: string
  /** The nodes that get the caller's message. */
  readonly entry: readonly string[]
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdge[]
  /** What one run may cost. */
  readonly maxCostUsd?: number
  /** What checks the question and the answer of the whole team. */
  readonly guards?: GraphGuards
}

/** The names of guards, in the order in which they look. */
interface GraphGuards {
  readonly input?: readonly string[]
  readonly output?: readonly string[]
}

/**
 * A member or a step of a team; its id is unique in the team. A member's is its agent's id, and so is that of the first
 * step that asks it; further steps of the same member have ids of their own.
 */
export interface GraphNode {
  readonly id: string
  /** The step's name where it has one, else the member's. */
  readonly name: string
  /** `team`, a kind of agent, or a step that is no agent: `approval`, `branch`, or `join`. */
  readonly kind: string
  /** A few words beneath the name: the host of a remote agent, a model, a condition, a question. */
  readonly detail?: string
  /** The nested team, where the member is one. */
  readonly team?: TeamGraph
  /** Whom the step asks. */
  readonly member?: string
  /** Where the step stands, as the trace names it without rounds and items: `2`, `3.1`. */
  readonly step?: string
  /** The place of the `map` around it: it is done once per item. */
  readonly each?: string
  /** Whether it makes one answer of those of parallel steps. */
  readonly joins?: boolean
  /** Whether its answer has to fit a schema and is data. */
  readonly data?: boolean
  /** What the cases of a branch ask, in order. */
  readonly cases?: readonly string[]
  /** What checks what it is asked and what it answers. */
  readonly guards?: GraphGuards
}

/** A way that work may go between two nodes of one team. */
export interface GraphEdge {
  readonly from: string
  readonly to: string
  /** `next`: always, in this order. `may`: the leader or router decides. `back`: a loop or an answer returns. */
  readonly kind: 'next' | 'may' | 'back'
  /** A condition, or `until …`. */
  readonly label?: string
  /** Of a branch: the cases by which the work goes this way, from 1; 0 where none holds. */
  readonly cases?: readonly number[]
  /** Of a loop, or of an approval whose feedback goes this way: its place. */
  readonly step?: string
  /** How many rounds there may be. */
  readonly max?: number
}
