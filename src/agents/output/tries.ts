import type { Json, JsonObject, Message, Part } from '../../protocol/types.ts'
import { addUsage, type Usage } from '../../protocol/usage.ts'
import { digestOf } from '../../shared/ids.ts'
import { askForJson, refuseAnswer } from '../../shared/json-answer.ts'
import type { Turn } from '../agent.ts'

/** An answer that did not fit. */
interface UnfitAnswer {
  /** The turn that it was given in. */
  readonly turn: number
  /** The id of the message that it answered: who asks in the same turn once more has another. */
  readonly message: string
  readonly text: string
  readonly fault: string
  readonly usage?: Usage
}

/** What is kept with the task, so that an answer which was refused is not asked for again after a crash. */
interface Saved {
  readonly turn: number
  /** The message whose try ended the turn with a question: the next turn goes on with it. */
  readonly asked?: string
  readonly unfit: readonly UnfitAnswer[]
}

/** Where tries keep what they keep: under this key, and a try after the first in a space of its own behind it. */
export const triesKey = 'output~'

/** The tries of one answer, across crashes and questions to the user. */
export class Tries {
  readonly #turn: Turn
  readonly #message: string
  /** Of whoever asked in this turn. */
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

  /** What refused answers have used since the agent was first asked. */
  get used(): Usage | undefined {
    return usageOfAll(this.#unfit)
  }

  /** The same, with those of whoever asked before in this turn. */
  get usedByAll(): Usage | undefined {
    return usageOfAll(this.#all)
  }

  /** Keeps that an answer did not fit; in the log before the agent is asked again. */
  async refuse(parts: readonly Part[], fault: string, usage: Usage | undefined): Promise<void> {
    const turn = this.#turn.number
    const text = cut(parts.map(partText).filter(Boolean).join('\n'))
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

  #save(saved: Saved): Promise<void> {
    const value: object = saved
    return this.#turn.save(triesKey, value as Json) // built of JSON values only
  }
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

function usageOfAll(answers: readonly UnfitAnswer[]): Usage | undefined {
  let used: Usage | undefined
  for (const { usage } of answers) used = addUsage(used, usage)
  return used
}

/** As much of an answer as is shown to whoever gave it. */
const longest = 20_000

function cut(text: string): string {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text
}

function partText(part: Part): string {
  if ('text' in part) return part.text
  return 'data' in part ? JSON.stringify(part.data) : ''
}

function read(value: Json | undefined): Saved | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const saved: object = value
  return saved as Saved // only Tries writes this key
}
