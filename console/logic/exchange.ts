import type { TaskRecord } from '../../src/console/api.ts'
import { traceExtension } from '../../src/protocol/extensions.ts'
import { createFold, type Fold, isInterrupted, isTerminal } from '../../src/protocol/task.ts'
import type { JsonObject, Message, StreamResponse, Task } from '../../src/protocol/types.ts'
import { backoffMs, wait } from '../../src/shared/async.ts'
import { type Clock, toTimestamp } from '../../src/shared/clock.ts'
import type { ServerEvent } from './events.ts'
import type { Peer } from './peer.ts'
import { Refused, sentenceOf } from './server.ts'

/** One task of a conversation as the chat shows it, at one moment. */
export interface ExchangeView {
  readonly task: Task | undefined
  /** What the user has said and the task does not show yet. */
  readonly sent: readonly Message[]
  /** The answer of an agent that made no task. */
  readonly answer: Message | undefined
  readonly trace: readonly TaskRecord[]
  readonly phase: 'idle' | 'streaming' | 'resuming' | 'lost'
  /** Why the phase is `lost`. */
  readonly fault: string | undefined
}

/** What an exchange works with. */
interface ExchangeOptions {
  readonly peer: Peer
  readonly clock: Clock
  /** Told after every event. */
  readonly changed: () => void
  readonly random?: () => number
}

type Open = () => AsyncIterable<ServerEvent>

/** How often a broken stream is taken up without anything new before the user is asked. */
const maxFailures = 8

/** One task of a conversation, from the first message to its end; a lost connection is taken up where it broke. */
export class ChatExchange {
  readonly #options: ExchangeOptions
  readonly #closing = new AbortController()
  #fold: Fold | undefined
  #sent: readonly Message[] = []
  #answer: Message | undefined
  #trace: TaskRecord[] = []
  /** The last event that was seen. */
  #seq: number | undefined
  /** Whether anything came since the last message was sent. */
  #heard = false
  #phase: ExchangeView['phase'] = 'idle'
  #fault: string | undefined
  #view: ExchangeView | undefined
  #open: Open = () => this.#subscribe()

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /** The same object until something changes. */
  get view(): ExchangeView {
    this.#view ??= this.#look()
    return this.#view
  }

  /** Sends a message: the first, or the answer to a question. Resolves when the task rests or the stream is lost. */
  send(message: Message): Promise<void> {
    this.#answer = undefined
    this.#heard = false
    this.#sent = [...this.#sent, message]
    const request = { message: toJson(message) }
    const options = { signal: this.#closing.signal, idempotencyKey: message.messageId }
    this.#open = () => this.#options.peer.stream('SendStreamingMessage', request, options)
    return this.resume()
  }

  /** Follows a task that is there already. */
  async follow(taskId: string): Promise<void> {
    this.#take({ id: undefined, data: { task: await this.#get(taskId) } })
    if (!this.#isSettled()) await this.resume()
  }

  /** Opens the stream, or takes a lost one up again, until the task rests. */
  async resume(): Promise<void> {
    const { clock, random = Math.random } = this.#options
    const { signal } = this.#closing
    this.#enter('streaming')
    for (let failures = 0; !signal.aborted; ) {
      const known = this.#seq
      const goesOn = await this.#attempt()
      if (!goesOn) return
      failures = this.#seq === known ? failures + 1 : 1
      if (failures > maxFailures) return this.#enter('lost', 'The connection was lost.')
      this.#enter('resuming')
      const ms = backoffMs(failures, { baseMs: 250, maxMs: 5_000, random })
      await wait(clock, ms, signal).catch(() => {}) // closed meanwhile: the loop ends
    }
  }

  async cancel(): Promise<void> {
    const { id } = this.#fold?.snapshot() ?? {}
    if (!id) return this.close()
    const task = await this.#options.peer.call('CancelTask', { id })
    if (!this.#isSettled()) this.#take({ id: undefined, data: { task } })
  }

  close(): void {
    this.#closing.abort()
  }

  /** Reads one stream to its end; whether another one has to follow. */
  async #attempt(): Promise<boolean> {
    try {
      const open = this.#heard && this.#fold ? () => this.#subscribe() : this.#open
      for await (const event of open()) this.#take(event)
    } catch (thrown) {
      if (this.#closing.signal.aborted) return false
      if (thrown instanceof Refused && !(await this.#outlives(thrown))) return false
    }
    if (!this.#isSettled()) return true
    this.#enter('idle')
    return false
  }

  /** Whether it is worth going on after a refusal: an ended task cannot be watched, but it can be read. */
  async #outlives(refusal: Refused): Promise<boolean> {
    const { id } = this.#fold?.snapshot() ?? {}
    if (id && this.#heard)
      try {
        this.#take({ id: undefined, data: { task: await this.#get(id) } })
        return true
      } catch {} // then the refusal itself is what the user should read
    if (refusal.status >= 500 || refusal.status === 429) return true
    this.#enter('lost', sentenceOf(refusal))
    return false
  }

  #take({ id, data }: ServerEvent): void {
    if (id !== undefined && this.#seq !== undefined && id <= this.#seq) return
    if (id !== undefined) this.#seq = id
    this.#heard = true
    this.#phase = this.#phase === 'resuming' ? 'streaming' : this.#phase
    const event = data as StreamResponse // a stream of A2A events, which the server has checked
    const entry = entryOf(event)
    if (entry) this.#trace.push(toRecord(entry, id ?? this.#trace.length + 1, this.#options.clock))
    else if ('message' in event) this.#answer = event.message
    else if (this.#fold) this.#fold.apply(event)
    else if ('task' in event) this.#fold = createFold(event.task)
    if ('task' in event) this.#adopt(event.task)
    this.#changed()
  }

  /** A snapshot may bring the trace and the user's own words. */
  #adopt(task: Task): void {
    const known = new Set(this.#trace.map(({ seq }) => seq))
    const more = traceOf(task, this.#options.clock).filter(({ seq }) => !known.has(seq))
    this.#trace = [...more, ...this.#trace]
    const heard = new Set(task.history?.map(({ messageId }) => messageId))
    for (const message of this.#sent) if (!heard.has(message.messageId)) this.#fold?.hear(message)
    this.#sent = []
  }

  #isSettled(): boolean {
    if (!this.#heard) return false
    if (this.#answer) return true
    const state = this.#fold?.state
    return state !== undefined && (isTerminal(state) || isInterrupted(state))
  }

  #subscribe(): AsyncIterable<ServerEvent> {
    const { id = '' } = this.#fold?.snapshot() ?? {}
    const after = this.#seq === undefined ? {} : { after: this.#seq }
    return this.#options.peer.stream(
      'SubscribeToTask',
      { id },
      { signal: this.#closing.signal, ...after },
    )
  }

  async #get(id: string): Promise<Task> {
    const task: unknown = await this.#options.peer.call('GetTask', { id }, this.#closing.signal)
    return task as Task // what GetTask answers
  }

  #look(): ExchangeView {
    this.#fold?.compact()
    return {
      task: this.#fold?.snapshot(),
      sent: this.#sent,
      answer: this.#answer,
      trace: this.#trace.slice(),
      phase: this.#phase,
      fault: this.#fault,
    }
  }

  #changed(): void {
    this.#view = undefined
    this.#options.changed()
  }

  #enter(phase: ExchangeView['phase'], fault?: string): void {
    this.#phase = phase
    this.#fault = fault
    this.#changed()
  }
}

/** The entry of the trace that a status event carries, if it does nothing else. */
function entryOf(event: StreamResponse): JsonObject | undefined {
  const entry = 'statusUpdate' in event ? event.statusUpdate.metadata?.[traceExtension] : undefined
  return typeof entry === 'object' && entry !== null && !Array.isArray(entry)
    ? (entry as JsonObject) // no list and not null: an object
    : undefined
}

function traceOf(task: Task, clock: Clock): readonly TaskRecord[] {
  const entries = task.metadata?.[traceExtension]
  if (!Array.isArray(entries)) return []
  return entries.map((entry: JsonObject, i) => toRecord(entry, Number(entry.seq ?? i), clock))
}

function toRecord(entry: JsonObject, seq: number, clock: Clock): TaskRecord {
  const { time } = entry
  const at = typeof time === 'string' ? time : toTimestamp(clock.now())
  return { seq, kind: 'trace', at, entry }
}

/** A message is plain JSON: the same value under the type of requests. */
function toJson(message: Message): JsonObject {
  return { ...message, parts: message.parts.map((part) => ({ ...part })) }
}
