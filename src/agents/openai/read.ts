import { createParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import { A2AError } from '../../protocol/errors.ts'
import type { Usage } from '../../protocol/extensions.ts'
import type { Json } from '../../protocol/types.ts'
import { soon } from '../../shared/async.ts'
import type { Clock } from '../../shared/clock.ts'
import { type Fields, isFields, type Mutable } from '../../shared/json.ts'
import { EventDecoder } from '../../shared/text.ts'
import type { Account } from '../agent.ts'
import { type ModelToolCall, parseArguments } from '../tools.ts'
import { type ChatDelta, parseDelta, type ReturnedFields, type ToolCallPiece } from './messages.ts'

/**
 * What model services send, as far as it is read. With `stream: true` the answer is server-sent events whose data is a
 * `chat.completion.chunk` each, then `[DONE]`. A tool call arrives in pieces: the first has its id and name, all have a
 * piece of the arguments and the index of the call. With `stream_options.include_usage` the last chunk has no choice and
 * the usage. Without `stream`, and from services that ignore it, the answer is one `chat.completion`.
 *
 * Services differ: some send whole calls with the index 0 each or without one, put what the model thinks into
 * `reasoning_content`, `reasoning` or between `<think>` and `</think>` before the text, or send an error as an event.
 */
export type ServiceReply = Dispatcher.ResponseData

/** The largest event, whole completion or refusal that is read. */
const maxLength = 4 * 1024 * 1024

/** Reads an answer out of the bytes of a reply, whatever its form. */
interface AnswerReader {
  /** The first error in the bytes; what follows it is not read. */
  readonly error: unknown
  /** Whether nothing more is wanted of the reply. */
  readonly isOver: boolean
  /** The deltas that some bytes bring: together, since a step of a generator costs more than a delta. */
  read(bytes: Uint8Array): readonly ChatDelta[]
  /** The rest of the answer when there are no more bytes. @throws A2AError where the answer is not whole. */
  end(): readonly ChatDelta[]
}

/** Makes the reader for the form that a reply has. */
export function createReader({ headers }: ServiceReply, agent: string): AnswerReader {
  const type = String(headers['content-type'] ?? '')
  return type.startsWith('text/event-stream') ? new EventReader(agent) : new WholeReader(agent)
}

/** Turns the text of a stream into deltas. */
class EventReader implements AnswerReader {
  readonly #agent: string
  readonly #decoder = new EventDecoder()
  readonly #thoughts = new ThoughtSplitter()
  readonly #parser: ReturnType<typeof createParser>
  #deltas: ChatDelta[] = []
  error: unknown
  isOver = false

  constructor(agent: string) {
    this.#agent = agent
    this.#parser = createParser({
      maxBufferSize: maxLength,
      onEvent: ({ data }) => this.#add(data),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded')
          this.error ??= malformed(agent, 'sent an event that is too large')
      },
    })
  }

  read(bytes: Uint8Array): readonly ChatDelta[] {
    this.#deltas = []
    this.#parser.feed(this.#decoder.decode(bytes))
    return this.#deltas
  }

  end(): readonly ChatDelta[] {
    if (!this.isOver && this.#thoughts.finish === undefined)
      throw malformed(this.#agent, 'broke off in the middle of its answer')
    const text = this.#thoughts.end()
    return text === '' ? [] : [{ text }]
  }

  #add(data: string): void {
    if (this.isOver || this.error !== undefined) return
    if (data === '[DONE]') this.isOver = true
    else
      try {
        this.#deltas.push(this.#thoughts.split(toDelta(data, this.#agent)))
      } catch (error) {
        this.error = error
      }
  }
}

/** Gathers the text of a completion that comes as a whole. */
class WholeReader implements AnswerReader {
  readonly #agent: string
  readonly #decoder = new TextDecoder()
  #text = ''
  readonly error = undefined

  constructor(agent: string) {
    this.#agent = agent
  }

  get isOver(): boolean {
    return this.#text.length > maxLength
  }

  read(bytes: Uint8Array): readonly ChatDelta[] {
    this.#text += this.#decoder.decode(bytes, { stream: true })
    return []
  }

  end(): readonly ChatDelta[] {
    const thoughts = new ThoughtSplitter()
    const delta = thoughts.split(toDelta(this.#text, this.#agent))
    const rest = thoughts.end()
    return rest === '' ? [delta] : [delta, { text: rest }]
  }
}

/** How much may follow the end of an answer, and how long the end of the body may take. */
const drainBytes = 16 * 1024
const drainMs = 100

/**
 * Reads what follows the answer, which is usually nothing but the end of the body: only then can the connection be used
 * again. A service that keeps its body open loses the connection instead. When the time is over, what has arrived is
 * read first: a busy loop calls late timers before it reads from sockets.
 */
export async function drain({ body }: ServiceReply, clock: Clock): Promise<void> {
  if (body.readableEnded || body.destroyed) return
  let isDrained = false
  const giveUp = (): void => {
    if (!isDrained) body.destroy()
  }
  const cancel = clock.after(drainMs, () => soon(giveUp))
  try {
    let size = 0
    for await (const chunk of body) {
      size += chunk.length
      if (size > drainBytes) return
    }
  } catch {
    // The answer is whole, whatever becomes of its connection.
  } finally {
    isDrained = true
    cancel()
  }
}

/** The text of an answer, as far as it is read. */
export async function readText(reply: ServiceReply): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of reply.body) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > maxLength) break
  }
  return text
}

/** A service sent an error where an answer was to be. */
export class ErrorInAnswer extends Error {
  /** The error as JSON. */
  readonly said: string

  constructor(said: string) {
    super('The model service sent an error in place of an answer')
    this.said = said
  }
}

function toDelta(data: string, agent: string): ChatDelta {
  const value = valueOfJson(data)
  if (errorFieldsOf(value)) throw new ErrorInAnswer(data)
  const delta = parseDelta(value)
  if (!delta) throw malformed(agent, 'sent no chat completion')
  if (delta.finish === 'error') throw malformed(agent, 'failed')
  return delta
}

/** The fields of an error that a service sent, by itself, under `error` or in a list of one; undefined for anything else. */
export function errorFieldsOf(value: unknown): Fields | undefined {
  const whole: unknown = Array.isArray(value) ? value[0] : value
  if (!isFields(whole)) return undefined
  if (isFields(whole.error)) return whole.error
  return whole.object === 'error' ? whole : undefined
}

/** The value of a JSON text; undefined where the text is not JSON. */
export function valueOfJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An answer that is no chat completion. */
export function malformed(agent: string, what: string): A2AError {
  return new A2AError('invalidAgentResponse', `The model of ${agent} ${what}`)
}

const opening = '<think>'
const closing = '</think>'

/** More white space than this before a text is part of the text. */
const maxSpace = 1_000

/**
 * Takes out what some models think between `<think>` and `</think>` at the beginning of their text. Tags further on are
 * text. A thought that is never closed is text too, unless the answer was cut off.
 */
class ThoughtSplitter {
  #state: 'start' | 'thinking' | 'space' | 'saying' = 'start'
  /** What may be the beginning of a tag. */
  #held = ''
  #thought = ''
  /** Why the answer has ended. */
  finish: string | undefined

  /** The delta, with text and thought apart. */
  split(delta: ChatDelta): ChatDelta {
    this.finish = delta.finish ?? this.finish
    if (delta.text === undefined || this.#state === 'saying') return delta
    const before = this.#thought.length
    const { text: whole, ...rest } = delta
    const text = this.#take(this.#held + whole)
    const reasoning = this.#thought.slice(before)
    return { ...rest, ...(text !== '' && { text }), ...(reasoning !== '' && { reasoning }) }
  }

  /** What turns out to be text when the answer is over. */
  end(): string {
    if (this.#state === 'start') return this.#held
    const isText = this.#state === 'thinking' && this.finish !== 'length'
    return isText ? `${opening}${this.#thought}${this.#held}` : ''
  }

  /** The part of a text that is said; the rest is thought or held. */
  #take(text: string): string {
    this.#held = ''
    if (this.#state === 'start') return this.#begin(text)
    if (this.#state === 'thinking') return this.#think(text)
    const said = text.trimStart()
    if (said !== '') this.#state = 'saying'
    return said
  }

  #begin(text: string): string {
    const said = text.trimStart()
    if (said.startsWith(opening)) {
      this.#state = 'thinking'
      return this.#think(said.slice(opening.length))
    }
    if (opening.startsWith(said) && text.length < maxSpace) {
      this.#held = text
      return ''
    }
    this.#state = 'saying'
    return text
  }

  #think(text: string): string {
    const at = text.indexOf(closing)
    if (at >= 0) {
      this.#thought += text.slice(0, at)
      this.#state = 'space'
      return this.#take(text.slice(at + closing.length))
    }
    let length = Math.min(closing.length - 1, text.length)
    while (!closing.startsWith(text.slice(text.length - length))) length--
    this.#held = text.slice(text.length - length)
    this.#thought += text.slice(0, text.length - length)
    return ''
  }
}

/**
 * What a model answered, gathered from chunks. A call without an id gets one, because its result must name it. What the
 * answer used has its cost where an account knows the price of the model that was asked.
 */
export class ChatAnswer {
  /** What it thought before. */
  reasoning = ''
  /** Its words for why it does not answer; empty where it answered. */
  refusal = ''
  finish: string | undefined
  usage: Usage | undefined
  /** Fields that go back to the service beside its tool calls. */
  returned: ReturnedFields = {}
  readonly #account: Account | undefined
  readonly #model: string | undefined
  readonly #calls: Mutable<ModelToolCall>[] = []
  /** The latest call under each index. */
  readonly #latest = new Map<number, Mutable<ModelToolCall>>()
  readonly #texts: string[] = []

  constructor(account?: Account, model?: string) {
    this.#account = account
    this.#model = model
  }

  get text(): string {
    return this.#texts.join('')
  }

  add({ text, reasoning, refusal, toolCalls, finish, usage, returned }: ChatDelta): void {
    if (text) this.#texts.push(text)
    if (reasoning) this.reasoning += reasoning
    if (refusal) this.refusal += refusal
    if (toolCalls) for (const piece of toolCalls) this.#addPiece(piece)
    this.finish = finish ?? this.finish
    if (usage) this.usage = this.#account ? this.#account.price(usage, this.#model) : usage
    if (returned) this.returned = joinFields(this.returned, returned)
  }

  /** The calls in the order of their beginnings, their arguments whole. */
  toolCalls(): readonly ModelToolCall[] {
    return this.#calls.map((call, place) => ({ ...call, id: call.id || `call_${place}` }))
  }

  #addPiece(piece: ToolCallPiece): void {
    const { index, id, name, arguments: args = '', extra } = piece
    const known = this.#latest.get(index)
    let call = known && !opensAnother(known, piece) ? known : undefined
    if (!call) {
      call = { id: '', name: '', arguments: '' }
      this.#calls.push(call)
      this.#latest.set(index, call)
    }
    call.id ||= id ?? ''
    call.name ||= name ?? ''
    call.arguments += args
    if (extra) call.extra = call.extra ? { ...call.extra, ...extra } : extra
  }
}

/** Whether a piece that comes under the index of a known call begins another one: services reuse indexes. */
function opensAnother(known: ModelToolCall, { id, name }: ToolCallPiece): boolean {
  if (id !== undefined && known.id !== '') return id !== known.id
  if (name === undefined || known.name === '') return false
  // Some services repeat the name with every piece.
  const isWhole = known.arguments.trim() !== '' && parseArguments(known.arguments) !== undefined
  return name !== known.name || isWhole
}

function joinFields(a: ReturnedFields, b: ReturnedFields): ReturnedFields {
  const joined: Record<string, string | readonly Json[]> = { ...a }
  for (const [name, more] of Object.entries(b)) {
    const before = joined[name]
    if (typeof before === 'string' && typeof more === 'string') joined[name] = before + more
    else joined[name] = Array.isArray(before) && Array.isArray(more) ? [...before, ...more] : more
  }
  return joined
}
