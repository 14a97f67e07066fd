import type { AgentInfo } from '../protocol/card.ts'
import type { Usage } from '../protocol/extensions.ts'
import type { AuthContext, Dispatch } from '../protocol/operations.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type {
  Artifact,
  Json,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskState,
} from '../protocol/types.ts'
import type { Logger } from '../shared/log.ts'

export type { AgentDetails, AgentInfo } from '../protocol/card.ts'

/**
 * Anything that answers messages: a function, a model, a remote A2A agent, a team. `defineAgent` makes one of a
 * function; implement it yourself for anything else.
 */
export interface Agent {
  /** Who the agent is. Called rarely; may fetch a remote card. */
  info(): AgentInfo | Promise<AgentInfo>
  /** Answers one message. A throw fails the task; only the message of an A2AError reaches the caller. */
  process(message: Message, turn: Turn): AgentReply
  /** Whether the agent can answer now. An agent without this is always healthy. */
  health?(): Promise<Health>
  /**
   * Whether an interrupted turn may run again after a crash, its durable steps replayed.
   * Without it a task that was running when the process died fails with a reason that says so.
   */
  readonly resumable?: boolean
  /**
   * What the agent is made of, as data. A digest of it is stored with every run, so that a later start knows whether
   * the agent is still the same; its info counts if absent.
   */
  readonly definition?: Json
  /**
   * The version of its code, which the digest covers too, also that of a team with this member. Raise it where a run
   * that one version began must not continue with the other.
   */
  readonly version?: string
  /**
   * Digests of the files of code that a configuration names for it and its members, by the agent's id. They are not part
   * of the definition: a run that continues with other files is only reported.
   * @internal
   */
  readonly codeDigests?: Readonly<Record<string, string>> | undefined
  /** What sort of agent it is, in one word, for people who look at it: `team`, `model`, `remote`, `function`. */
  readonly kind?: string
  /** What looks at its messages and answers before others do, by name, for people who look at it. */
  readonly guardNames?:
    | { readonly input?: readonly string[]; readonly output?: readonly string[] }
    | undefined
  /** What its answers are, where they are data: each has been checked by this. */
  readonly outputSchema?: DataSchema | undefined
  /**
   * Told when a task is given up, or is cancelled while it waits for its client; a running turn hears of a cancel by
   * `turn.signal`. After a crash it may be told again, and of a task whose turn was running.
   */
  cancel?(task: WaitingTask): Promise<void>
  /**
   * The agent's own operations, where it keeps its tasks itself: a server that serves it passes requests on to them and
   * stores nothing. As a member of a team it answers by `process` like any other.
   */
  readonly dispatch?: Dispatch
  /** Releases what the agent holds. May be called twice. */
  close?(): Promise<void>
}

/** An agent whose answers are data of a known type. */
export interface AgentOf<Output> extends Agent {
  readonly outputSchema: DataSchema<Output>
}

/** A task between two turns, and what the agent saved with it. */
export interface WaitingTask {
  readonly taskId: string
  readonly contextId: string
  /** Gives a value that the agent saved with the task. */
  load(key: string): Json | undefined
  /** The keys under which something was saved. */
  keys(): Iterable<string>
}

/** Whether an agent can answer now. */
export interface Health {
  readonly healthy: boolean
  /** Why it cannot. */
  readonly reason?: string
  /** Members of a team, each with its own answer. */
  readonly members?: Readonly<Record<string, Health>>
}

/**
 * What an agent gives back: one answer, or events as they happen. A string becomes a completed task with the artifact
 * `response`; a lone message stores nothing.
 */
export type AgentReply = AgentAnswer | Promise<AgentAnswer> | AsyncIterable<AgentEvent>

/**
 * A whole answer. A task gets the turn's own id. One that is still SUBMITTED or WORKING is left so, across restarts
 * too, until the agent finishes it by `turn.taskStore`.
 */
export type AgentAnswer = string | Message | { readonly task: Task } | undefined

/**
 * What an agent may yield. A string or part is a further chunk of the artifact `response`; a message alone answers
 * without a task; the rest are events, whose ids of task and context are filled in.
 */
export type AgentEvent = string | Part | Message | Draft

/** An event whose ids of task and context are filled in for you. */
export type Draft =
  | StreamResponse
  | { readonly statusUpdate: StatusDraft }
  | { readonly artifactUpdate: ArtifactDraft }

/** A change of status without ids and time, which are filled in for you. */
export interface StatusDraft {
  readonly status: { readonly state: TaskState; readonly message?: Message }
  readonly metadata?: JsonObject
}

/** An artifact, or a chunk of one, without the ids of task and context, which are filled in for you. */
export interface ArtifactDraft {
  readonly artifact: Artifact
  /** True where the parts go on at the end of an artifact that is already there; it is replaced otherwise. */
  readonly append?: boolean
  /** True where nothing of this artifact follows. */
  readonly lastChunk?: boolean
  readonly metadata?: JsonObject
}

/** How an artifact chunk joins what is already there. */
export interface ChunkOptions {
  /** True where the parts go on at the end of an artifact that is already there; it is replaced otherwise. */
  readonly append?: boolean
  /** True where nothing of this artifact follows. */
  readonly lastChunk?: boolean
  /** Metadata of the event. */
  readonly metadata?: JsonObject
}

/** Values that stay with a conversation: every task of a context, and every member of a team, sees the same. */
export interface ContextValues {
  /** The value under a key. */
  get(key: string): Promise<Json | undefined>
  /**
   * Keeps a value; the last one wins, null takes it away. One that is set within a step is stored with the step's
   * result, and not at all where the step fails; any other with the step or event that follows. Keys that begin with
   * `corral:` are taken.
   */
  set(key: string, value: Json): void
}

/** The work of a step; what it sets in `values` is stored with its result. */
export type StepWork<T extends Json> = (values: ContextValues) => Promise<T> | T

/** What an agent knows and can do while it answers one message. */
export interface Turn {
  /** The id the task has, or will have if it comes into being. */
  readonly taskId: string
  /** The conversation that the message belongs to. */
  readonly contextId: string
  /** The message to answer. */
  readonly message: Message
  /** Which message of the task this is, from 1; the same when the turn runs again after a crash. */
  readonly number: number
  /** The task as it was before this message, where the message continues one. */
  readonly task: Task | undefined
  /** The task's messages before this one. */
  readonly history: readonly Message[]
  /** Who sent the message. */
  readonly caller: AuthContext
  /** The tenant that the caller named; empty where none was. */
  readonly tenant: string
  /** Fires on cancel, on a member's or turn's deadline and on shutdown. */
  readonly signal: AbortSignal
  /** The server's log. */
  readonly log: Logger
  /** Extensions that the client activated and the card declares. */
  readonly extensions: readonly string[]
  /** MIME types that the client can read; any if empty. */
  readonly acceptedOutputModes: readonly string[]
  /** The JSON Schema that the answer is to fit, as data or as JSON; absent where any answer will do. */
  readonly outputSchema?: JsonObject | undefined
  /** Metadata of the request, beside that of the message. */
  readonly metadata: JsonObject | undefined
  /** 1, or more when a turn runs again after a crash and has not finished a step since. */
  readonly attempt: number
  /** The W3C trace context of the caller, to pass on. */
  readonly traceparent: string | undefined
  /** The agents that have handed this message on, oldest first; it ends endless loops among servers. */
  readonly hops: readonly string[]
  /** Makes a status event, to yield. */
  status(state: TaskState, text?: string): Draft
  /** Makes an artifact event, to yield. */
  artifact(artifact: Artifact, options?: ChunkOptions): Draft
  /** Makes the event that ends the turn by asking the user something; their answer is the next turn's message. */
  ask(text: string): Draft
  /** Makes a message of this agent in this task. */
  reply(text: string | readonly Part[]): Message
  /**
   * Runs `work` once per turn and name, even across a crash: its result is in the log before anyone acts on it,
   * and a turn that runs again gets the result without the work. `work` gets the values of the conversation, which it
   * needs where it sets some while other steps run: what it sets by them is stored with this step's result. What is set by
   * `turn.context` belongs to the step that began last.
   */
  step<T extends Json>(name: string, work: StepWork<T>): Promise<T>
  /**
   * What to call a step by in systems outside, such as an idempotency key, so that they can tell a repetition: a
   * step's result counts once, but its work may begin again where its process died before the result was stored.
   */
  stepKey(name: string): string
  /** Gives a value that stays with the task across turns and crashes; private to the agent. */
  load(key: string): Json | undefined
  /** Keeps a value with the task; it is stored once the promise resolves. */
  save(key: string, value: Json): Promise<void>
  /** Values that stay with the conversation. */
  readonly context: ContextValues
  /**
   * Lets others have this turn's slot while it waits for work that is done elsewhere: by a remote agent, a model, a tool
   * of another program. The returned function ends that, however often it is called; it resolves when the turn has a slot
   * again, which comes before any new turn, or when the turn is over. Several may be away at once: the slot is given back
   * with the first and taken again after the last.
   */
  away(): () => Promise<void>
  /**
   * Gives an address of this server at which a remote system reports, as a webhook, that work which this turn waits for
   * has changed; undefined where the server has no `publicUrl`. It is the same for the whole task and after a crash.
   */
  callback?(): Promise<Callback | undefined>
  /**
   * The caller's tasks, to read and to change also when the turn is over; absent for a member of a team, whose task is the
   * team's. An update is an event like those of a turn: stored, then told to streams and webhooks. What the given task
   * does not mention (history, artifacts, metadata) stays. An ended task stays as it is.
   */
  readonly taskStore?: FullTaskStore | undefined
  /** Where what the turn uses is counted; absent where nobody counts or prices it. */
  readonly account?: Account | undefined
  /**
   * Records something for the task's trace; seen only by callers that activate the trace extension. Of an error that is
   * `thrown` the log keeps the words, without secrets, for operators.
   */
  trace(entry: JsonObject, thrown?: unknown): void
  /** Earlier messages of this context, oldest first, across its tasks; answers appear as agent messages. */
  conversation(limit: number): Promise<readonly Message[]>
}

/** Where a remote system reports that something has changed. What it reports is not passed on: ask the system itself. */
export interface Callback {
  /** The URL that takes the report, by POST. */
  readonly url: string
  /** What must come with it as `X-A2A-Notification-Token`. */
  readonly token: string
  /** Calls `called` at each report, whichever replica got it, until the returned function is called. */
  listen(called: () => void): () => void
}

/**
 * Where the work of a turn is counted, against the budgets of the teams around it. Models count by themselves; an
 * agent that calls one on its own may tell it here, and is then stopped in time.
 */
export interface Account {
  /** What was counted for the turn so far, by whomever in it; undefined where nothing was. */
  readonly used: Usage | undefined
  /**
   * Call it before what costs something, such as a request to a model.
   * @throws A2AError `processingError` when a team around has used up its tokens or its money.
   */
  check(): void
  /**
   * Gives the usage with its cost, where it has none yet and the model has a price; `asked` is the name that the model
   * was asked for by.
   */
  price(usage: Usage, asked?: string): Usage
  /** Counts what has just been used. */
  spend(usage: Usage): void
  /**
   * Call it with an estimate where a service did not report what an answer used. Gives the estimate back where a limit
   * wants it counted, else undefined.
   * @throws A2AError `processingError` where a team around does not want to go on without knowing.
   */
  unreported(estimate: Usage): Usage | undefined
  /** Counts what the turn is known to have used in all, so far as that is not counted: it may have begun in another process. */
  resume(total: Usage): void
}

/** A schema that is ready for use: what a model is told, and what a value is checked by. */
export interface DataSchema<T = unknown> {
  /** The schema as JSON Schema, for model services and cards. */
  readonly jsonSchema: JsonObject
  /**
   * Reads a value: the data that it stands for, or what does not fit in words that name the place. A large value is read
   * in slices, and principals take turns: name the one that it is read for.
   */
  read(value: unknown, principal?: string): Promise<DataReading<T>> | DataReading<T>
}

/** What came of reading a value by a schema: the data, or what does not fit. */
export type DataReading<T = unknown> =
  | { readonly data: T; readonly fault?: undefined }
  | { readonly fault: string }
