import { A2AError } from '../../protocol/errors.ts'
import { addUsage, type Usage } from '../../protocol/extensions.ts'
import { parseMessage } from '../../protocol/schema.ts'
import { textOf } from '../../protocol/task.ts'
import type { Json, JsonObject, Part } from '../../protocol/types.ts'
import { inOnePiece, type PausableWork, runInSlices } from '../../shared/async.ts'
import { digestOf } from '../../shared/ids.ts'
import { isFields } from '../../shared/json.ts'
import { trimEnd } from '../../shared/text.ts'
import type { Turn } from '../agent.ts'
import { WrappedTurn } from '../wrap.ts'
import type { ContentKind, GuardSide, GuardVerdict } from './guard.ts'
import {
  allowed,
  blocked,
  type Cleaner,
  Cleaning,
  type ReadyGuard,
  type ReadyGuards,
  toContent,
} from './ready.ts'

/** What an agent is asked for a verdict with. */
export interface VerdictQuestion {
  readonly member: string
  readonly parts: readonly Part[]
  /** What the question is known by: the same for the same content, another one otherwise. */
  readonly name: string
}

/** What an agent answered that was asked for a verdict, and what it cost where that is not counted otherwise. */
export interface VerdictAnswer {
  readonly parts: readonly Part[]
  readonly usage?: Usage | undefined
}

/** Guards, and what they need of the code that puts them there. */
export interface GuardPlace {
  readonly guards: ReadyGuards
  /** Whose guards they are, as the trace says it: `team`, `agent`, `step`. */
  readonly owner: JsonObject
  /** Where the trace of the guards goes, if not into the agent's own. */
  readonly tracer?: Pick<Turn, 'trace'>
  /** Asks an agent for a verdict in the guarded agent's turn; a durable step. */
  askMember(question: VerdictQuestion, turn: Turn): Promise<VerdictAnswer>
}

type CleanerGuard = Extract<ReadyGuard, { readonly kind: 'cleaner' }>

interface JudgedContent {
  readonly parts: readonly Part[]
  readonly kind: ContentKind
  readonly index: number
}

const unchecked = blocked('it could not be checked')

/** The guards of one side in one turn. */
export class GuardCheck {
  readonly #at: GuardSide
  readonly #turn: Turn
  readonly #guards: readonly ReadyGuard[]
  readonly #place: GuardPlace
  /** What agents that were asked for verdicts have used. */
  usage: Usage | undefined
  /** What `again` gives of content that was prepared. */
  readonly #seen = new Map<readonly Part[], readonly Part[] | undefined>()
  /** Long texts are looked at in slices, and callers take turns. */
  readonly #slices: { readonly principal: string | undefined }

  constructor(at: GuardSide, turn: Turn, place: GuardPlace) {
    this.#at = at
    this.#turn = turn
    this.#guards = place.guards[at]
    this.#place = place
    this.#slices = { principal: turn.caller.userId }
  }

  /** Whether there are any. */
  get isNeeded(): boolean {
    return this.#guards.length > 0
  }

  /** Whose they are. */
  get owner(): JsonObject {
    return this.#place.owner
  }

  /** Whether one of them may decide otherwise another time. */
  get decides(): boolean {
    return this.#guards.some(({ kind }) => kind === 'own' || kind === 'member')
  }

  /** Whether an agent is asked, which is not worth it for words on what is going on. */
  get asksMembers(): boolean {
    return this.#guards.some(({ kind }) => kind === 'member')
  }

  /**
   * What the guards leave of content; the same list where all of them allow it.
   * @throws ContentBlocked with the reason of the one that blocks it.
   */
  async parts(given: readonly Part[], kind: ContentKind): Promise<readonly Part[]> {
    let parts = given
    for (const [index, guard] of this.#guards.entries()) {
      const verdict = await this.#judge(guard, { parts, kind, index })
      if (verdict.verdict === 'allow') continue
      this.#trace(guard.name, verdict)
      if (verdict.verdict === 'block') throw this.#blocked(guard.name, verdict.reason)
      parts = 'parts' in verdict ? verdict.parts : [{ text: verdict.text }]
    }
    if (parts === given && kind !== 'status')
      this.#trace(this.#guards.map(({ name }) => name).join(', '), allowed)
    return parts
  }

  /**
   * What is left of content that has passed before, by those guards that find the same again; undefined where one blocks.
   * Content that was prepared is not looked at another time.
   */
  again(given: readonly Part[]): readonly Part[] | undefined {
    return this.#seen.has(given) ? this.#seen.get(given) : inOnePiece(this.#lookAgain(given))
  }

  /** Looks at content that has passed before, in slices, for `again`. */
  async prepare(given: readonly Part[]): Promise<void> {
    if (!this.#seen.has(given))
      this.#seen.set(given, await runInSlices(this.#lookAgain(given), this.#slices))
  }

  *#lookAgain(given: readonly Part[]): PausableWork<readonly Part[] | undefined> {
    let parts = given
    for (const guard of this.#guards) {
      if (guard.kind !== 'cleaner') continue
      const verdict = yield* this.#clean(guard, parts)
      if (verdict.verdict === 'block') return undefined
      if ('parts' in verdict) parts = verdict.parts
    }
    return parts
  }

  /** What is left of words beside the content, such as a name or the reason of a failure. @throws ContentBlocked */
  words<T extends Json>(given: T): T | Promise<T> {
    return runInSlices(
      this.#beside(given, () => true),
      this.#slices,
    )
  }

  /** What is left of notes of programs for programs, such as metadata. @throws ContentBlocked */
  notes<T extends Json>(given: T): T | Promise<T> {
    return runInSlices(
      this.#beside(given, ({ readsNotes }) => readsNotes === true),
      this.#slices,
    )
  }

  *#beside<T extends Json>(given: T, looks: (cleaner: Cleaner) => boolean): PausableWork<T> {
    let value = given
    for (const guard of this.#guards) {
      if (guard.kind !== 'cleaner' || !looks(guard.cleaner)) continue
      const left = yield* this.#orUnchecked(guard, new Cleaning(guard.cleaner).json(value))
      if (left === value) continue
      const verdict =
        left === undefined ? unchecked : { verdict: guard.action, reason: guard.reason }
      this.#trace(guard.name, verdict)
      if (left === undefined || verdict.verdict === 'block')
        throw this.#blocked(guard.name, verdict.reason)
      value = left
    }
    return value
  }

  /** An entry of the trace as the caller may see it before the guards have decided of what is said. */
  discreet(entry: JsonObject): JsonObject {
    const cleans = this.#guards.every(
      (guard) => guard.kind === 'cleaner' && guard.action === 'replace',
    )
    let left = cleans ? entry : withoutWords(entry)
    for (const guard of this.#guards) {
      if (guard.kind !== 'cleaner') continue
      const cleaning = new Cleaning(guard.cleaner)
      const { text } = left
      if (guard.cleaner.readsNotes)
        left = inOnePiece(this.#orUnchecked(guard, cleaning.json(left))) ?? left
      else if (typeof text === 'string')
        left = { ...left, text: inOnePiece(this.#orUnchecked(guard, cleaning.text(text))) ?? text }
    }
    return left
  }

  #blocked(guard: string, reason: string): ContentBlocked {
    const [at, usage] = [this.#at, this.usage]
    const what = at === 'input' ? 'The message' : 'The answer'
    return new ContentBlocked(`${what} was blocked by the guard ${guard}: ${reason}`, { at, usage })
  }

  #judge(
    guard: ReadyGuard,
    { parts, kind, index }: JudgedContent,
  ): GuardVerdict | Promise<GuardVerdict> {
    const isWhole = kind === 'message' || kind === 'answer'
    if (guard.kind === 'cleaner') return runInSlices(this.#clean(guard, parts), this.#slices)
    if (guard.kind === 'form')
      return isWhole
        ? this.#orBlock(guard.name, () => guard.judge(parts, this.#slices.principal))
        : allowed
    if (guard.kind === 'member')
      return kind === 'status' ? allowed : this.#askMember(guard.member, parts, index)
    const content = toContent(parts)
    const context = { at: this.#at, kind, turn: this.#turn }
    const judge = async (): Promise<GuardVerdict> =>
      parseVerdict(await guard.judge(content, context))
    return this.#durably(parts, index, () => this.#orBlock(guard.name, judge))
  }

  /** A guard that fails lets nothing pass. */
  async #orBlock(
    guard: string,
    work: () => GuardVerdict | Promise<GuardVerdict>,
  ): Promise<GuardVerdict> {
    try {
      return await work()
    } catch (error) {
      this.#turn.signal.throwIfAborted()
      this.#turn.log.warn({ guard, error }, 'A guard has failed, and so blocks')
      return unchecked
    }
  }

  *#clean(guard: CleanerGuard, parts: readonly Part[]): PausableWork<GuardVerdict> {
    const left = yield* this.#orUnchecked(guard, new Cleaning(guard.cleaner).parts(parts))
    if (left === undefined) return unchecked
    if (left === parts) return allowed
    const { action, reason } = guard
    return action === 'block' ? blocked(reason) : { verdict: action, reason, parts: left }
  }

  /** What a cleaner leaves; undefined where it has failed. */
  *#orUnchecked<T>({ name }: CleanerGuard, work: PausableWork<T>): PausableWork<T | undefined> {
    try {
      return yield* work
    } catch (error) {
      this.#turn.log.warn({ guard: name, error }, 'A guard has failed, and so blocks')
      return undefined
    }
  }

  /** Once per content, even across a crash. */
  async #durably(
    parts: readonly Part[],
    index: number,
    work: () => Promise<GuardVerdict>,
  ): Promise<GuardVerdict> {
    const name = `guard/${this.#at}${index + 1}/${await digestOf(parts)}`
    const json = await this.#turn.step(name, async () => {
      const verdict: object = await work()
      return verdict as Json // built of texts and parts, which are JSON
    })
    return parseVerdict(json)
  }

  /** One that cannot be asked fails the task with its own fault: nothing passes, and it may be tried again. */
  async #askMember(member: string, parts: readonly Part[], index: number): Promise<GuardVerdict> {
    const digest = await digestOf(parts)
    const name = `${this.#at}${index + 1}-${digest.slice(0, 12)}`
    const question = { member, parts, name }
    const { parts: answer, usage } = await this.#place.askMember(question, this.#turn)
    this.usage = addUsage(this.usage, usage)
    return this.#orBlock(member, () => readAnswer(answer))
  }

  #trace(guard: string, verdict: { verdict: GuardVerdict['verdict']; reason?: string }): void {
    const at = this.#at
    const { owner, tracer = this.#turn } = this.#place
    const { reason } = verdict
    const said = { verdict: verdict.verdict, ...(reason && { reason }) }
    // The turns of members put their place in front of `at`: the side alone stands in a field of its own.
    tracer.trace({ type: 'guard', ...owner, at, side: at, guard, ...said })
  }
}

/** What a `ContentBlocked` tells beside its reason. */
export interface BlockDetails {
  /** Whether a message or an answer is blocked. */
  readonly at: GuardSide
  /** What the answer had cost by then. */
  readonly usage?: Usage | undefined
  /** The error behind it, for the log. */
  readonly cause?: unknown
}

/**
 * A guard has blocked a message or an answer. Its words are the guard's reason, which the caller is told: the task is
 * REJECTED where a message was blocked, FAILED where an answer was.
 */
export class ContentBlocked extends A2AError {
  override readonly name: string = 'ContentBlocked'
  /** Whether a message or an answer was blocked. */
  readonly at: GuardSide
  /** What the answer had cost by then. */
  readonly usage: Usage | undefined

  constructor(reason: string, { at, usage, cause }: BlockDetails) {
    super('processingError', reason, { why: 'guard', ...(cause !== undefined && { cause }) })
    this.at = at
    this.usage = usage
  }
}

/**
 * The verdict in an agent's answer: data, JSON and nothing else, or the words `allow` or `block: reason`.
 * @throws Error for anything else, so that nothing passes without a verdict.
 */
function readAnswer(parts: readonly Part[]): GuardVerdict {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  if (data.length > 1) throw new Error('The answer has more than one verdict')
  if (data.length === 1) return parseVerdict(data[0])
  const text = textOf(parts).trim()
  if (trimEnd(text.slice(0, 20).toLowerCase(), '.! ') === 'allow') return { verdict: 'allow' }
  const [word = '', ...reason] = text.split(':')
  if (trimEnd(word.slice(0, 20).toLowerCase(), '.! ') === 'block')
    return parseVerdict({ verdict: 'block', reason: reason.join(':').trim() })
  return parseVerdict(parseJson(text))
}

/** Models put JSON between fences whatever the prompt says; prose around it is no verdict. */
function parseJson(text: string): unknown {
  const [, fenced] = /^```(?:json)?\n([^`]{1,20000})\n?```$/.exec(text) ?? []
  try {
    return JSON.parse(fenced ?? text)
  } catch {
    return undefined
  }
}

/** The longest reason that is told. */
const maxReason = 500

/**
 * A verdict as a function or a log gave it.
 * @throws Error for what is none.
 */
function parseVerdict(value: unknown): GuardVerdict {
  if (!isFields(value)) throw new Error('A guard gave no verdict')
  const { verdict, reason, text, parts } = value
  const why = typeof reason === 'string' && reason !== '' ? reason.slice(0, maxReason) : undefined
  if (verdict === 'allow') return { verdict }
  if (verdict === 'block') return { verdict, reason: why ?? 'it is not allowed' }
  if (verdict !== 'replace') throw new Error('A guard gave no verdict')
  if (typeof text === 'string') return { verdict, text, ...(why && { reason: why }) }
  const message = parseMessage({ messageId: 'guard', role: 'ROLE_AGENT', parts })
  return { verdict, parts: message.parts, ...(why && { reason: why }) }
}

/** What an agent that is asked for a verdict answers with. */
export const verdictSchema: JsonObject = {
  type: 'object',
  properties: {
    verdict: { type: 'string', enum: ['allow', 'replace', 'block'] },
    reason: { type: 'string', description: 'Why; the caller is told, so nothing of the content' },
    text: { type: 'string', description: 'What stands in its place, where it is replaced' },
  },
  required: ['verdict'],
  additionalProperties: false,
}

/** A turn whose trace is without what the guards have not let pass: its reader may be the caller. */
export class DiscreetTurn extends WrappedTurn {
  readonly #discreet: (entry: JsonObject) => JsonObject

  constructor(outer: Turn, discreet: (entry: JsonObject) => JsonObject) {
    super(outer)
    this.#discreet = discreet
  }

  override trace(entry: JsonObject, thrown?: unknown): void {
    super.trace(this.#discreet(entry), thrown)
  }
}

/** An entry of a trace without what was said, and without what tools were asked and gave. */
export function withoutWords(entry: JsonObject): JsonObject {
  const left: Record<string, Json | undefined> = { ...entry }
  for (const name of ['text', 'arguments', 'result']) if (name in left) left[name] = ''
  return left
}
