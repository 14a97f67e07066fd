import { skimJson } from '../bindings/skim.ts'
import { principalOf } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { DepthMeter } from './depth.ts'
import type { Intake, RequestHead } from './intake.ts'

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
const harmlessBytes = 4 * 1024

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
