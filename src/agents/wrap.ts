import { A2AError } from '../protocol/errors.ts'
import { type AuthContext, anonymous } from '../protocol/operations.ts'
import {
  answerParts,
  isInterrupted,
  isTerminal,
  newMessage,
  textOf,
  userMessage,
} from '../protocol/task.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type {
  Artifact,
  Json,
  JsonObject,
  Message,
  Part,
  Task,
  TaskState,
} from '../protocol/types.ts'
import { isAsyncIterable } from '../shared/async.ts'
import { digestOf, newId } from '../shared/ids.ts'
import { type Logger, silent } from '../shared/log.ts'
import type {
  Account,
  Agent,
  AgentEvent,
  AgentReply,
  Callback,
  ChunkOptions,
  ContextValues,
  Draft,
  StepWork,
  Turn,
} from './agent.ts'
import { collectTask } from './reply.ts'

/**
 * A turn around another, for an agent that works within another's turn. Every member is the outer turn's, the optional
 * ones too: a wrapper that forgets one does not compile. A subclass says what differs. A class with accessors, not a copy:
 * a team makes one per call of a member, and what is never read, such as a signal or a copy of the history, is never made.
 */
export class WrappedTurn implements Readonly<{ [Name in keyof Required<Turn>]: Turn[Name] }> {
  /** Out of reach of the agent, which may write its turn into a log: the outer turn has what guards have taken out. */
  readonly #outer: Turn

  constructor(outer: Turn) {
    this.#outer = outer
  }

  get taskId(): string {
    return this.#outer.taskId
  }
  get contextId(): string {
    return this.#outer.contextId
  }
  get message(): Message {
    return this.#outer.message
  }
  get number(): number {
    return this.#outer.number
  }
  get task(): Task | undefined {
    return this.#outer.task
  }
  get history(): readonly Message[] {
    return this.#outer.history
  }
  get caller(): AuthContext {
    return this.#outer.caller
  }
  get tenant(): string {
    return this.#outer.tenant
  }
  get signal(): AbortSignal {
    return this.#outer.signal
  }
  get log(): Logger {
    return this.#outer.log
  }
  get extensions(): readonly string[] {
    return this.#outer.extensions
  }
  get acceptedOutputModes(): readonly string[] {
    return this.#outer.acceptedOutputModes
  }
  get outputSchema(): JsonObject | undefined {
    return this.#outer.outputSchema
  }
  get metadata(): JsonObject | undefined {
    return this.#outer.metadata
  }
  get attempt(): number {
    return this.#outer.attempt
  }
  get traceparent(): string | undefined {
    return this.#outer.traceparent
  }
  get hops(): readonly string[] {
    return this.#outer.hops
  }
  get context(): ContextValues {
    return this.#outer.context
  }
  get taskStore(): FullTaskStore | undefined {
    return this.#outer.taskStore
  }
  get account(): Account | undefined {
    return this.#outer.account
  }

  status(state: TaskState, text?: string): Draft {
    return this.#outer.status(state, text)
  }
  artifact(artifact: Artifact, options?: ChunkOptions): Draft {
    return this.#outer.artifact(artifact, options)
  }
  ask(text: string): Draft {
    return this.#outer.ask(text)
  }
  reply(content: string | readonly Part[]): Message {
    return this.#outer.reply(content)
  }
  step<T extends Json>(name: string, work: StepWork<T>): Promise<T> {
    return this.#outer.step(name, work)
  }
  stepKey(name: string): string {
    return this.#outer.stepKey(name)
  }
  load(key: string): Json | undefined {
    return this.#outer.load(key)
  }
  save(key: string, value: Json): Promise<void> {
    return this.#outer.save(key, value)
  }
  away(): () => Promise<void> {
    return this.#outer.away()
  }
  callback(): Promise<Callback | undefined> {
    return this.#outer.callback?.() ?? Promise.resolve(undefined)
  }
  trace(entry: JsonObject, thrown?: unknown): void {
    this.#outer.trace(entry, thrown)
  }
  conversation(limit: number): Promise<readonly Message[]> {
    return this.#outer.conversation(limit)
  }
}

/** What an agent has of its own that works within another's turn. */
interface InnerTurnOptions {
  /** Keeps its steps and state apart from all others. */
  readonly space: string
  readonly message: Message
}

/** The turn of an agent that works within another's turn, in the same task, which is not its own to finish later. */
export class InnerTurn extends WrappedTurn {
  readonly #message: Message
  readonly #space: string

  constructor(outer: Turn, { space, message }: InnerTurnOptions) {
    super(outer)
    this.#message = message
    this.#space = space
  }

  override get message(): Message {
    return this.#message
  }
  override get taskStore(): FullTaskStore | undefined {
    return undefined
  }
  /** What is asked of the outer answer is not asked of what goes into it. */
  override get outputSchema(): JsonObject | undefined {
    return undefined
  }
  override step<T extends Json>(name: string, work: StepWork<T>): Promise<T> {
    return super.step(`${this.#space}/${name}`, work)
  }
  override stepKey(name: string): string {
    return super.stepKey(`${this.#space}/${name}`)
  }
  override load(key: string): Json | undefined {
    return super.load(`${this.#space}/${key}`)
  }
  override save(key: string, value: Json): Promise<void> {
    return super.save(`${this.#space}/${key}`, value)
  }
}

/**
 * The values of a conversation as one turn sees them while steps of it run: what it sets belongs to the step that began
 * last, and where none runs to what is around the turn.
 */
export class SteppedValues implements ContextValues {
  readonly #outer: ContextValues
  readonly #running: ContextValues[] = []

  constructor(outer: ContextValues) {
    this.#outer = outer
  }

  get(key: string): Promise<Json | undefined> {
    return this.#innermost.get(key)
  }

  set(key: string, value: Json): void {
    this.#innermost.set(key, value)
  }

  /** Does the work of a step, and knows that it runs. */
  async run<T extends Json>(work: StepWork<T>, values: ContextValues): Promise<T> {
    this.#running.push(values)
    try {
      return await work(values)
    } finally {
      this.#running.splice(this.#running.indexOf(values), 1)
    }
  }

  get #innermost(): ContextValues {
    return this.#running.at(-1) ?? this.#outer
  }
}

/** How an agent is asked something aside, within the turn of another one. */
interface AsideOptions {
  readonly turn: Turn
  /** Names the question: its steps and state are kept apart from all others. */
  readonly space: string
  readonly signal: AbortSignal
  readonly outputSchema?: JsonObject
}

/** Asks an agent something aside. */
export async function askAside(
  agent: Agent,
  content: string | readonly Part[],
  options: AsideOptions,
): Promise<Task> {
  const { taskId, contextId, number } = options.turn
  // The same when the turn runs again after a crash, so that a remote agent is not sent it twice.
  const messageId = await digestOf([taskId, number, options.space])
  const message = { ...userMessage(content, { contextId }), messageId }
  const inner = new AsideTurn(message, options)
  return collectTask(agent.process(message, inner), inner)
}

/** The turn of an agent that is asked something aside: it knows its own question only, and keeps its state apart. */
class AsideTurn extends InnerTurn {
  readonly #signal: AbortSignal
  readonly #outputSchema: JsonObject | undefined

  constructor(message: Message, { turn, space, signal, outputSchema }: AsideOptions) {
    super(turn, { space, message })
    this.#signal = signal
    this.#outputSchema = outputSchema
  }

  override get signal(): AbortSignal {
    return this.#signal
  }
  override get outputSchema(): JsonObject | undefined {
    return this.#outputSchema
  }
  override get task(): undefined {
    return undefined
  }
  override get history(): readonly Message[] {
    return []
  }
  override get extensions(): readonly string[] {
    return []
  }
  override get acceptedOutputModes(): readonly string[] {
    return []
  }
  override get metadata(): undefined {
    return undefined
  }
  override async conversation(): Promise<readonly Message[]> {
    return []
  }
}

/** What differs in an agent that is wrapped. A member that is `undefined` here is left out. */
type AgentOverrides = {
  readonly [Name in Exclude<keyof Agent, 'process'>]?: Agent[Name] | undefined
} & {
  /** Answers a message; `ask` lets the wrapped agent answer it, or another one, in the turn that is given. */
  process?(ask: AskAgent, message: Message, turn: Turn): AgentReply
}

/** Lets an agent answer in this turn: its own message, unless another one is given. */
export type AskAgent = (turn: Turn, message?: Message) => AgentReply

/**
 * An agent around another. Every member is the wrapped one's, also those that are added to the contract later or that its
 * kind has besides; what differs is given. Its methods are called on the agent itself, which may be an instance of a
 * class.
 */
export function wrapAgent(agent: Agent, { process, ...overrides }: AgentOverrides): Agent {
  const members = membersOf(agent)
  if (process)
    members.process = {
      // Whatever else the agent's kind is given, such as tools, is passed on.
      value: (message: Message, turn: Turn, ...more: []): AgentReply =>
        process((own, other = message) => agent.process(other, own, ...more), message, turn),
      enumerable: true,
    }
  for (const [name, value] of Object.entries(overrides))
    if (value === undefined) delete members[name]
    else members[name] = { value, enumerable: true }
  return Object.defineProperties({}, members) as Agent // it has the agent's members, or others of their types
}

function membersOf(agent: Agent): PropertyDescriptorMap {
  const members: PropertyDescriptorMap = {}
  for (let level = agent; level && level !== Object.prototype; level = Object.getPrototypeOf(level))
    for (const name of Reflect.ownKeys(level))
      if (name !== 'constructor' && !(name in members)) members[name] = memberOf(agent, level, name)
  return members
}

/** Accessors are read when they are asked for: what an agent says of itself may change, or cost something. */
function memberOf(agent: Agent, level: object, name: PropertyKey): PropertyDescriptor {
  const value: unknown = Object.getOwnPropertyDescriptor(level, name)?.value
  return typeof value === 'function'
    ? { value: value.bind(agent), enumerable: true }
    : { get: () => Reflect.get(agent, name), enumerable: true }
}

/** Waits for work that another program does; others have the turn's slot meanwhile. */
export async function elsewhere<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
  const back = turn.away()
  try {
    return await work()
  } finally {
    await back()
  }
}

/** A reply, and a call when nothing more comes of it. */
export function whenOver(ask: () => AgentReply, done: () => void): AgentReply {
  let reply: AgentReply
  try {
    reply = ask()
  } catch (error) {
    done()
    throw error
  }
  // The contract's only iterable.
  if (isAsyncIterable(reply)) return eventsThen(reply as AsyncIterable<AgentEvent>, done)
  if (reply instanceof Promise) return reply.finally(done)
  done()
  return reply
}

async function* eventsThen(
  events: AsyncIterable<AgentEvent>,
  done: () => void,
): AsyncGenerator<AgentEvent> {
  try {
    yield* events
  } finally {
    done()
  }
}

/**
 * Asks an agent in this program, without a server: its answer as one message, or its question to the user.
 * Nothing is stored, and the task is visible to no one else.
 *
 * @throws what the agent throws, and A2AError `processingError` where it fails, rejects or cancels its task.
 */
export async function askAlone(agent: Agent, message: Message): Promise<Message> {
  const turn = createLoneTurn(message)
  return answerOf(await collectTask(agent.process(turn.message, turn), turn))
}

/** A turn without a server: what the agent saves lasts as long as the turn. */
function createLoneTurn(given: Message): Turn {
  const ids = { taskId: newId(), contextId: given.contextId ?? newId() }
  const saved = new Map<string, Json>()
  const values = new Map<string, Json>()
  const steps = new Map<string, Promise<Json>>()
  const context: ContextValues = {
    get: async (key) => values.get(key),
    set: (key, value) => void values.set(key, value),
  }
  const reply: Turn['reply'] = (content) => newMessage('ROLE_AGENT', content, ids)
  const status: Turn['status'] = (state, text) => ({
    statusUpdate: { status: { state, ...(text !== undefined && { message: reply(text) }) } },
  })
  return {
    ...ids,
    message: { ...given, ...ids },
    task: undefined,
    history: [],
    caller: anonymous,
    tenant: '',
    signal: new AbortController().signal,
    log: silent,
    extensions: [],
    acceptedOutputModes: [],
    metadata: undefined,
    number: 1,
    attempt: 1,
    traceparent: undefined,
    hops: [],
    status,
    artifact: (artifact, options = {}) => ({ artifactUpdate: { artifact, ...options } }),
    ask: (text) => status('TASK_STATE_INPUT_REQUIRED', text),
    reply,
    step<T extends Json>(name: string, work: StepWork<T>): Promise<T> {
      const known = steps.get(name) ?? Promise.resolve(context).then(work)
      steps.set(name, known)
      return known as Promise<T> // of the same name, so of the same work
    },
    stepKey: (name) => `${ids.taskId}/1/${name}`,
    load: (key) => saved.get(key),
    save: async (key, value) => void saved.set(key, value),
    context,
    away: () => async () => {},
    trace: () => {},
    conversation: async () => [],
  }
}

function answerOf(task: Task): Message {
  const { state, message } = task.status
  if (isTerminal(state) && state !== 'TASK_STATE_COMPLETED')
    throw new A2AError(
      'processingError',
      textOf(message?.parts ?? []) || 'The agent could not answer',
    )
  const parts = isInterrupted(state) ? (message?.parts ?? []) : answerParts(task)
  return newMessage('ROLE_AGENT', parts, { contextId: task.contextId })
}
