import {
  addUsage,
  clientRoutingExtension,
  toolCallsOf,
  toUsageMetadata,
  type Usage,
  usageOf,
} from '../../protocol/extensions.ts'
import { createFold, type Fold, isInterrupted, isTerminal, textOf } from '../../protocol/task.ts'
import type { FullTaskStore } from '../../protocol/task-store.ts'
import type {
  Artifact,
  Json,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskState,
} from '../../protocol/types.ts'
import { digestOf } from '../../shared/ids.ts'
import { askForJson, refuseAnswer } from '../../shared/json.ts'
import type { Agent, AgentAnswer, AgentEvent, StepWork, Turn, WaitingTask } from '../agent.ts'
import { type ReplyPlace, readAgentEvent, responseArtifact } from '../reply.ts'
import { InnerTurn, WrappedTurn } from '../wrap.ts'

/** An answer that did not fit. */
interface UnfitAnswer {
  /** The turn that it was given in. */
  readonly turn: number
  /** The id of the message that it answered: a second question in the same turn has another. */
  readonly message: string
  readonly text: string
  readonly fault: string
  readonly usage?: Usage
}

/** What is kept with the task, so that an answer which was refused is not asked for again after a crash. */
interface SavedTries {
  readonly turn: number
  /** The message whose try ended the turn with a question: the next turn goes on with it. */
  readonly asked?: string
  readonly unfit: readonly UnfitAnswer[]
}

/** Where tries keep what they keep: under this key, and a try after the first in a space of its own behind it. */
const triesKey = 'output~'

/** As much of an answer as is shown to the agent that gave it. */
const longest = 20_000

/** The tries of one answer, across crashes and questions to the user. */
export class Tries {
  readonly #turn: Turn
  readonly #message: string
  /** Of all questions of this turn. */
  #all: readonly UnfitAnswer[]
  #unfit: readonly UnfitAnswer[]

  constructor(turn: Turn, { messageId }: Message) {
    this.#turn = turn
    this.#message = messageId
    const saved = read(turn.load(triesKey))
    const isSame = saved?.turn === turn.number
    const asked = isSame ? messageId : saved?.asked
    const goesOn = saved !== undefined && asked !== undefined
    this.#unfit = goesOn
      ? saved.unfit.filter(({ turn, message }) => turn < saved.turn || message === asked)
      : []
    this.#all = isSame ? saved.unfit : this.#unfit
  }

  /** The number of the try that is next, from 1. */
  get number(): number {
    return this.#unfit.length + 1
  }

  /** The answer that the next try is to mend; none where it begins the turn. */
  get last(): UnfitAnswer | undefined {
    const last = this.#unfit.at(-1)
    return last?.turn === this.#turn.number ? last : undefined
  }

  /** Why the last answer cannot be used. */
  get fault(): string {
    return this.#unfit.at(-1)?.fault ?? ''
  }

  /** The last answer, as its agent is shown it. */
  get said(): string {
    return this.#unfit.at(-1)?.text ?? ''
  }

  /** What refused answers have used since the agent was first asked. */
  get used(): Usage | undefined {
    return usageOfAll(this.#unfit)
  }

  /** The same, with those of earlier questions in this turn. */
  get usedByAll(): Usage | undefined {
    return usageOfAll(this.#all)
  }

  /** Keeps that an answer did not fit; in the log before the agent is asked again. */
  async refuse(parts: readonly Part[], fault: string, usage: Usage | undefined): Promise<void> {
    const turn = this.#turn.number
    const whole = toShownAnswer(parts)
    const text = whole.length > longest ? `${whole.slice(0, longest - 1)}…` : whole
    const unfit = { turn, message: this.#message, text, fault, ...(usage && { usage }) }
    this.#unfit = [...this.#unfit, unfit]
    this.#all = [...this.#all, unfit]
    await this.#save({ turn, unfit: this.#all })
  }

  /** Keeps which try has asked the user, for the turn that brings the answer. */
  async asks(): Promise<void> {
    const saved = { turn: this.#turn.number, asked: this.#message, unfit: this.#all }
    if (this.#unfit.length > 0) await this.#save(saved)
  }

  #save(saved: SavedTries): Promise<void> {
    const value: object = saved
    return this.#turn.save(triesKey, value as Json) // built of JSON values only
  }
}

/** An answer in words, data as JSON. */
export function toShownAnswer(parts: readonly Part[]): string {
  return parts.map(partText).filter(Boolean).join('\n')
}

function partText(part: Part): string {
  if ('text' in part) return part.text
  return 'data' in part ? JSON.stringify(part.data) : ''
}

function read(value: Json | undefined): SavedTries | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const saved: object = value
  return saved as SavedTries // only Tries writes this key
}

function usageOfAll(answers: readonly UnfitAnswer[]): Usage | undefined {
  let used: Usage | undefined
  for (const { usage } of answers) used = addUsage(used, usage)
  return used
}

/** Asks again: what was asked, what was answered and why it cannot be used, in one message that needs no memory. */
export async function toRepeat(
  message: Message,
  { text, fault }: UnfitAnswer,
  { number, schema }: { readonly number: number; readonly schema: JsonObject },
): Promise<Message> {
  const said = text === '' ? '' : `\n\nYou have answered:\n${text}`
  const parts = [
    ...message.parts,
    { text: `${said}\n\n${refuseAnswer(fault)}` },
    { text: askForJson(schema) },
  ]
  // The same when the turn runs again after a crash, so that a remote agent is not sent it twice.
  return { ...message, parts, messageId: await digestOf([message.messageId, triesKey, number]) }
}

/** The parts of a question with the schema in words behind them, unless it stands there already. */
export function withSchemaInWords(parts: readonly Part[], schema: JsonObject): readonly Part[] {
  const text = askForJson(schema)
  const last = parts.at(-1)
  return last && 'text' in last && last.text === text ? parts : [...parts, { text }]
}

/** The turn of the first try: the outer one, with the schema that the answer is to fit. */
export class FirstTry extends WrappedTurn {
  readonly #schema: JsonObject

  constructor(outer: Turn, schema: JsonObject) {
    super(outer)
    this.#schema = schema
  }

  override get outputSchema(): JsonObject {
    return this.#schema
  }
  override load(key: string): Json | undefined {
    return super.load(toInner(key))
  }
  override save(key: string, value: Json): Promise<void> {
    return super.save(toInner(key), value)
  }
  override step<T extends Json>(name: string, work: StepWork<T>): Promise<T> {
    return super.step(toInner(name), work)
  }
  override stepKey(name: string): string {
    return super.stepKey(toInner(name))
  }
}

/** What a further try has of its own. */
interface FurtherTryOptions {
  readonly message: Message
  readonly schema: JsonObject
  readonly number: number
  /** Whether it mends an answer of this turn; else it goes on with what the user was asked. */
  readonly mends: boolean
  /** Whether the agent sees what it saved in earlier tries, such as what its tools have given. */
  readonly keepsState: boolean
}

/** The turn of a further try: in a space of its own, since steps of the last one are done and would stay as they are. */
export class FurtherTry extends InnerTurn {
  readonly #outer: Turn
  readonly #options: FurtherTryOptions

  constructor(outer: Turn, options: FurtherTryOptions) {
    super(outer, { space: spaceOf(options.number), message: options.message })
    this.#outer = outer
    this.#options = options
  }

  override get outputSchema(): JsonObject {
    return this.#options.schema
  }
  override get task(): Task | undefined {
    return this.#options.mends ? undefined : super.task
  }
  override get taskStore(): FullTaskStore | undefined {
    return this.#outer.taskStore
  }
  override load(key: string): Json | undefined {
    const own = super.load(key)
    if (own !== undefined || !this.#options.keepsState) return own
    for (let number = this.#options.number - 1; number > 1; number--) {
      const earlier = this.#outer.load(`${spaceOf(number)}/${key}`)
      if (earlier !== undefined) return earlier
    }
    return this.#outer.load(toInner(key))
  }
}

/** Notifies an agent that its part of a task is cancelled, in whichever try it keeps something. */
export async function cancelTries(agent: Agent, task: WaitingTask): Promise<void> {
  if (!agent.cancel) return
  const spaces = new Set<string>()
  for (const key of task.keys()) {
    const space = /^output~\d{1,6}(?=\/)/.exec(key)?.[0]
    if (space) spaces.add(space)
  }
  await agent.cancel(spaces.size === 0 ? task : inFirstTry(task))
  for (const space of spaces) await agent.cancel(inSpace(task, space))
}

function spaceOf(number: number): string {
  return `${triesKey}${number}`
}

/** An agent within the agent may have tries of its own: their keys move behind ours. */
function toInner(key: string): string {
  return key.startsWith(triesKey) ? `${triesKey}${key}` : key
}

function inFirstTry(task: WaitingTask): WaitingTask {
  return {
    ...task,
    load: (key) => task.load(toInner(key)),
    *keys() {
      for (const key of task.keys())
        if (!key.startsWith(triesKey)) yield key
        else if (key.startsWith(triesKey, triesKey.length)) yield key.slice(triesKey.length)
    },
  }
}

function inSpace(task: WaitingTask, space: string): WaitingTask {
  return {
    ...task,
    load: (key) => task.load(`${space}/${key}`),
    *keys() {
      for (const key of task.keys())
        if (key.startsWith(`${space}/`)) yield key.slice(space.length + 1)
    },
  }
}

/** What an agent says in one try, held back until it is known whether it is an answer and whether it fits. */
export class HeldAnswer implements ReplyPlace {
  readonly taskId: string
  readonly contextId: string
  readonly responseId: string = responseArtifact
  hasResponse = false
  readonly #turn: Turn
  /** Made for what is more than one message. */
  #fold: Fold | undefined
  readonly #events: StreamResponse[] = []
  #artifacts: readonly Artifact[] | undefined
  #lone: Message | undefined
  /** What is said of the answer as a whole. */
  #metadata: JsonObject | undefined
  /** What a status on the way says of who goes on; any metadata may, where there are no words. */
  #handing: 'over' | 'perhaps' | undefined

  constructor(turn: Turn) {
    this.taskId = turn.taskId
    this.contextId = turn.contextId
    this.#turn = turn
  }

  /** Takes in an event. False for one that is no part of the answer, such as progress, and need not wait. */
  take(event: StreamResponse): boolean {
    if ('message' in event) this.#lone = event.message
    else this.#toFold().apply(event)
    if ('statusUpdate' in event) {
      const { status, metadata } = event.statusUpdate
      const { state } = status
      const ends = isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
      if (!ends) {
        if (metadata) this.#handing = clientRoutingExtension in metadata ? 'over' : 'perhaps'
        return false
      }
      this.#note(status.message?.metadata)
      this.#note(metadata)
    } else if ('task' in event) {
      this.#note(event.task.status.message?.metadata)
      this.#note(event.task.metadata)
    } else if ('message' in event) this.#note(event.message.metadata)
    this.#events.push(event)
    return true
  }

  /** Takes in a whole answer. */
  takeAnswer(answer: AgentAnswer): void {
    if (answer !== undefined) this.take(readAgentEvent(answer, this))
  }

  /** Whether the agent has nothing more to say. */
  get hasEnded(): boolean {
    const state = this.#state
    return isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
  }

  /** Whether it waits for the user. */
  get asks(): boolean {
    return isInterrupted(this.#state)
  }

  /** Whether it is an answer at all: no question, no failure, no call of the client's tools, no handing over. */
  get isAnswer(): boolean {
    const state = this.#state
    if (this.asks || (isTerminal(state) && state !== 'TASK_STATE_COMPLETED')) return false
    const isEmpty = (part: Part): boolean => 'text' in part && textOf([part]) === ''
    if (this.#handing === 'over' || (this.#handing && this.parts.every(isEmpty))) return false
    return !this.#all().some(({ metadata }) => metadata && toolCallsOf(metadata)?.length)
  }

  get parts(): readonly Part[] {
    const artifacts = this.#all()
    if (artifacts.length > 0) return artifacts.flatMap(({ parts }) => parts)
    return this.#lone?.parts ?? this.#fold?.snapshot().status.message?.parts ?? []
  }

  get usage(): Usage | undefined {
    const whole = usageOf(this.#metadata)
    if (whole) return whole
    return this.#all().reduce<Usage | undefined>(
      (sum, { metadata }) => addUsage(sum, usageOf(metadata)),
      undefined,
    )
  }

  /** The events as they came, the last with the tokens that earlier tries used as well. */
  *asItIs(earlier: Usage | undefined): Iterable<AgentEvent> {
    const total = earlier && addUsage(earlier, this.usage)
    const last = this.#events.at(-1)
    for (const event of this.#events) yield event === last && total ? telling(event, total) : event
  }

  /** The answer as data: one part, and behind it the files that came with it. */
  *asData(data: Json, earlier: Usage | undefined): Iterable<AgentEvent> {
    const { number } = this.#turn
    const artifactId = number === 1 ? responseArtifact : `${responseArtifact}-${number}`
    const [first, ...others] = this.#all()
    const total = addUsage(earlier, this.usage)
    const metadata = {
      ...this.#metadata,
      ...first?.metadata,
      ...(total && toUsageMetadata(total)),
    }
    const answer: Artifact = {
      artifactId,
      name: responseArtifact,
      parts: [{ data, mediaType: 'application/json' }, ...filesOf(first ?? this)],
      ...(Object.keys(metadata).length > 0 && { metadata }),
    }
    yield this.#turn.artifact(answer, { lastChunk: true })
    for (const artifact of others) {
      const parts = filesOf(artifact)
      const isTaken = artifact.artifactId === artifactId
      const name = isTaken ? { artifactId: `${artifactId}-other` } : {}
      if (parts.length > 0)
        yield this.#turn.artifact({ ...artifact, ...name, parts }, { lastChunk: true })
    }
  }

  get #state(): TaskState {
    return this.#fold?.state ?? 'TASK_STATE_WORKING'
  }

  #toFold(): Fold {
    const { taskId: id, contextId } = this
    this.#fold ??= createFold({ id, contextId, status: { state: 'TASK_STATE_WORKING' } })
    return this.#fold
  }

  #note(metadata: JsonObject | undefined): void {
    if (metadata) this.#metadata = this.#metadata ? { ...this.#metadata, ...metadata } : metadata
  }

  /** Looked at when everything has been said. */
  #all(): readonly Artifact[] {
    if (this.#artifacts) return this.#artifacts
    this.#fold?.compact()
    this.#artifacts = this.#fold?.snapshot().artifacts ?? []
    return this.#artifacts
  }
}

function filesOf({ parts }: { readonly parts: readonly Part[] }): readonly Part[] {
  return parts.filter((part) => 'raw' in part || 'url' in part)
}

function telling(event: StreamResponse, total: Usage): StreamResponse {
  const usage = toUsageMetadata(total)
  if ('statusUpdate' in event) {
    const { statusUpdate } = event
    return { statusUpdate: { ...statusUpdate, metadata: { ...statusUpdate.metadata, ...usage } } }
  }
  if ('artifactUpdate' in event) {
    const { artifactUpdate } = event
    const { artifact } = artifactUpdate
    const metadata = { ...artifact.metadata, ...usage }
    return { artifactUpdate: { ...artifactUpdate, artifact: { ...artifact, metadata } } }
  }
  if ('task' in event)
    return { task: { ...event.task, metadata: { ...event.task.metadata, ...usage } } }
  return event
}
