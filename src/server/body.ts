import { skimJson } from '../bindings/call.ts'
import type { HttpRequest } from '../bindings/http.ts'
import { A2AError, toA2AError } from '../protocol/errors.ts'
import { anonymous, type Call, principalOf } from '../protocol/operations.ts'
import { SharedBudget } from '../shared/fair-share.ts'
import { createVisitors, openAuth } from './access/auth.ts'
import { type Limits, resolveLimits } from './access/limits.ts'
import { createClientReader } from './access/origins.ts'
import type { ServerContext } from './server.ts'

/** What is known of a request before its body is read. */
export type RequestHead = Pick<HttpRequest, 'headers' | 'query' | 'client'> &
  Partial<Pick<HttpRequest, 'path'>>

/** What decides on a request before its body is read. Hand a server's own to `toNodeHandler`. */
export interface Intake {
  /** The server's limits. */
  readonly limits: Limits
  /**
   * The bytes of bodies that are being read, by who sends them.
   * @internal
   */
  readonly budget: SharedBudget
  /**
   * The bytes of large replies that their readers have not taken yet, by client.
   * @internal
   */
  readonly unread: SharedBudget
  /** The client that a request comes from, past the proxies that are trusted; undefined where nobody knows. */
  clientOf(head: RequestHead): string | undefined
  /** Asks who sends a large body, by its head alone: whose share it counts in, or why it is refused. */
  admit(head: RequestHead): string | A2AError | Promise<string | A2AError>
  /** The largest body: what an adapter was given, else the server's. @throws Error where the two were given and differ. */
  maxBodyBytes(given?: number): number
  /**
   * Says once that callers whom nobody knows have no shares, since an adapter does not know their addresses.
   * @internal
   */
  warnOfUnknownClients(): void
}

/** Makes the intake of a server; without one it lets everybody in within the default limits, each in its peer's share. */
export function createIntake(server: Partial<ServerContext> = {}): Intake {
  const { auth = openAuth, limit, limits = resolveLimits(), logger, options } = server
  const givenMaxBodyBytes = options?.limits?.maxBodyBytes
  const clientOf = options ? createClientReader(options) : ({ client }: RequestHead) => client
  const { maxInflightBodyBytes, maxUnreadBytes } = limits
  const share = Math.max(maxInflightBodyBytes / 2, limits.maxBodyBytes)
  const visitors = createVisitors({ auth, limit })
  let warned = false

  const admitKnown = (call: Call): Promise<string | A2AError> =>
    visitors.identify(call).then((known) => principalOf({ ...call, auth: known }), toA2AError)

  return {
    limits,
    budget: new SharedBudget({ max: maxInflightBodyBytes, share }),
    unread: new SharedBudget({ max: maxUnreadBytes, share: maxUnreadBytes / 4, loneFits: true }),
    clientOf,
    admit(head) {
      const { headers, query } = head
      const client = clientOf(head)
      const isOpen = server.isOpenTo?.(head.path ?? '') ?? false
      if (typeof isOpen !== 'boolean') return isOpen
      if (auth === openAuth || isOpen) return principalOf(client === undefined ? {} : { client })
      return admitKnown({
        headers,
        query,
        auth: anonymous,
        ...(client !== undefined && { client }),
      })
    },
    maxBodyBytes(given) {
      if (given !== undefined && givenMaxBodyBytes !== undefined && given !== givenMaxBodyBytes)
        throw new Error(
          `maxBodyBytes says ${given} and limits says ${givenMaxBodyBytes}: give one of them`,
        )
      // A body that is larger than all bodies together may be would never be taken.
      return Math.min(given ?? limits.maxBodyBytes, maxInflightBodyBytes)
    },
    warnOfUnknownClients() {
      if (warned || !auth.open) return
      warned = true
      logger?.warn({}, unknownClients)
    },
  }
}

const unknownClients =
  'toFetch does not know the addresses of clients, so callers whom nobody knows have no shares; give it clientAddress'

/** Where a body comes from. */
export interface BodySource {
  readonly intake: Intake
  readonly maxBytes: number
  /** The length that the head tells; undefined where it tells none. */
  readonly length: number | undefined
  /** Whether the head says JSON, whose nesting is bounded. */
  readonly isJson: boolean
  head(): RequestHead
}

/** Why a body is not read on; undefined where it is. */
export type BodyRefusal = A2AError | undefined

/** Bodies up to here are read before anyone asks who sends them: their answer carries the request's id. */
const smallBytes = 64 * 1024

/** JSON of so few bytes costs less to parse, however deep, than counting would; its checks bound the depth. */
export const harmlessBytes: number = 4 * 1024

/** The levels around a value in a message, in whichever dialect: the batch, the envelope, params, message and parts. */
const levelsAround = 8

/**
 * One body on its way in: it holds the chunks, and tells as early as can be when no more of it is to be read. A small
 * body that comes in one piece takes nothing from any budget. A class, since one is made per request.
 */
export class BodyReading {
  readonly #source: BodySource
  readonly #chunks: Uint8Array[] = []
  #size = 0
  #sender: string | undefined
  #held = 0
  #admitted = false
  #over = false
  #meter: DepthMeter | undefined

  constructor(source: BodySource) {
    this.#source = source
  }

  /** To be asked before the first chunk. */
  begin(): BodyRefusal | Promise<BodyRefusal> {
    const { length, maxBytes } = this.#source
    if (length === undefined) return undefined
    if (length > maxBytes) return this.#tooLarge()
    return length > smallBytes ? this.#admit(length) : undefined
  }

  /** Keeps a chunk. */
  take(chunk: Uint8Array): BodyRefusal | Promise<BodyRefusal> {
    const { maxBytes, length, isJson } = this.#source
    this.#size += chunk.length
    if (this.#size > maxBytes) return this.#tooLarge()
    this.#chunks.push(chunk)
    const isWhole = chunk.length === length
    if (isWhole && chunk.length <= harmlessBytes) return undefined
    if (isJson && this.#isTooDeep(chunk)) return this.#tooDeep()
    if (this.#size <= this.#held || (isWhole && chunk.length <= smallBytes)) return undefined
    return this.#size > smallBytes && !this.#admitted ? this.#admit(this.#size) : this.#hold()
  }

  /** What has been read. */
  get chunks(): readonly Uint8Array[] {
    return this.#chunks
  }

  /** Lets go of the chunks and of the room that they took. */
  release(): void {
    this.#over = true
    this.#chunks.length = 0
    this.#give()
  }

  #admit(bytes: number): BodyRefusal | Promise<BodyRefusal> {
    const answer = this.#source.intake.admit(this.#source.head())
    return answer instanceof Promise
      ? answer.then((sender) => this.#settle(sender, bytes))
      : this.#settle(answer, bytes)
  }

  #settle(sender: string | A2AError, bytes: number): BodyRefusal {
    if (sender instanceof A2AError) return sender
    this.#give()
    this.#sender = sender
    this.#admitted = true
    return this.#hold(bytes)
  }

  #hold(bytes: number = this.#size): BodyRefusal {
    this.#sender ??= principalOf(this.#source.head())
    if (this.#over) return undefined
    if (!this.#source.intake.budget.take(this.#sender, bytes - this.#held)) return busy()
    this.#held = bytes
    return undefined
  }

  #give(): void {
    if (this.#held > 0) this.#source.intake.budget.give(this.#sender ?? '', this.#held)
    this.#held = 0
  }

  #isTooDeep(chunk: Uint8Array): boolean {
    this.#meter ??= new DepthMeter(this.#source.intake.limits.maxDepth + levelsAround)
    return this.#meter.exceeds(chunk)
  }

  #tooLarge(): A2AError {
    return new A2AError('payloadTooLarge', `The body exceeds ${this.#source.maxBytes} bytes`)
  }

  #tooDeep(): A2AError {
    const { maxDepth } = this.#source.intake.limits
    const description = `must not nest deeper than ${maxDepth} levels`
    const field = tooDeepField(beginning(this.#chunks), maxDepth + levelsAround)
    if (field === undefined) return new A2AError('invalidParams', `The request: ${description}`)
    const violations = [{ field, description }]
    return new A2AError('invalidParams', `${field}: ${description}`, { violations })
  }
}

/** The text of the first chunks, enough for the id of a request that cannot be parsed. */
export function beginning(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder()
  let text = ''
  for (const chunk of chunks) {
    if (text.length >= smallBytes) break
    text += decoder.decode(chunk.subarray(0, smallBytes), { stream: true })
  }
  return text
}

/** The field that nests too deep, named as checks name it; undefined where it has no name. */
function tooDeepField(text: string, maxDepth: number): string | undefined {
  const { path } = skimJson(text, maxDepth)
  const first = typeof path[0] === 'number' ? 1 : 0
  const from = path[first] === 'params' ? first + 1 : first
  const steps = path.slice(from, from + shownLevels)
  if (typeof steps[0] !== 'string') return undefined
  return steps
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : i ? `.${step}` : step))
    .join('')
}

const shownLevels = 4

function busy(): A2AError {
  return new A2AError('unavailable', 'Too many large requests are being read; try again', {
    retryAfterSeconds: 1,
  })
}

/**
 * Counts how deep JSON nests while its bytes arrive, so that nobody parses what nests too deep. What is between quotes
 * does not count, wherever the chunks are cut.
 */
export class DepthMeter {
  readonly #max: number
  #depth = 0
  #quoted = false
  #escaped = false

  constructor(max: number) {
    this.#max = max
  }

  /** Whether the JSON so far, with this chunk, nests deeper than it may. */
  exceeds(chunk: Uint8Array): boolean {
    const { length } = chunk
    let depth = this.#depth
    for (let i = this.#quoted ? this.#passText(chunk, 0) : 0; i < length; i++) {
      const byte = chunk[i]
      if (byte === quote) i = this.#passText(chunk, i + 1) - 1
      else if (byte === openBrace || byte === openBracket) {
        if (++depth > this.#max) return true
      } else if (byte === closeBrace || byte === closeBracket) depth--
    }
    this.#depth = depth
    return false
  }

  /** Where the text that goes on here has ended; the end of the chunk, if it goes on in the next one. */
  #passText(chunk: Uint8Array, from: number): number {
    let escaped = this.#escaped
    this.#quoted = false
    this.#escaped = false
    for (let i = from, since = from; i < chunk.length; i++) {
      const byte = chunk[i]
      if (escaped) escaped = false
      else if (byte === quote) return i + 1
      else if (byte === backslash) escaped = true
      else if (i - since >= shortText) {
        since = nextQuote(chunk, i)
        escaped = backslashesBefore(chunk, since) % 2 === 1
        i = since - 1
      }
    }
    this.#quoted = true
    this.#escaped = escaped
    return chunk.length
  }
}

/** After so many bytes of a text its end is searched for, which takes far less than looking at each byte. */
const shortText = 64

function nextQuote(chunk: Uint8Array, from: number): number {
  const found = chunk.indexOf(quote, from)
  return found < 0 ? chunk.length : found
}

function backslashesBefore(chunk: Uint8Array, end: number): number {
  let first = end
  while (chunk[first - 1] === backslash) first--
  return end - first
}

const quote = 0x22

const backslash = 0x5c

const openBracket = 0x5b

const closeBracket = 0x5d

const openBrace = 0x7b

const closeBrace = 0x7d
