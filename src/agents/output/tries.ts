import type { Json, JsonObject, Message, Part } from '../../protocol/types.ts'
import { addUsage, type Usage } from '../../protocol/usage.ts'
import { digestOf } from '../../shared/ids.ts'
import { askForJson, refuseAnswer } from '../../shared/json-answer.ts'
import type { Turn } from '../agent.ts'

/** An answer that did not fit. */
interface UnfitAnswer {
  /** The turn that it was given in. */
  readonly turn: number
  readonly text: string
  readonly fault: string
  readonly usage?: Usage
}

/** What is kept with the task, so that an answer which was refused is not asked for again after a crash. */
interface Saved {
  readonly turn: number
  /** Whether the turn ended with a question of the try that was going on: the next turn goes on with it. */
  readonly asked?: boolean
  readonly unfit: readonly UnfitAnswer[]
}

/** Where tries keep what they keep: under this key, and a try after the first in a space of its own behind it. */
export const triesKey = 'output~'

/** The tries of one answer, across crashes and questions to the user. */
export class Tries {
  readonly #turn: Turn
  #unfit: readonly UnfitAnswer[]

  constructor(turn: Turn) {
    this.#turn = turn
    const saved = read(turn.load(triesKey))
    const goesOn = saved && (saved.turn === turn.number || saved.asked)
    this.#unfit = goesOn ? saved.unfit : []
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

  /** What refused answers have used since the agent was first asked. */
  get used(): Usage | undefined {
    let used: Usage | undefined
    for (const { usage } of this.#unfit) used = addUsage(used, usage)
    return used
  }

  /** Keeps that an answer did not fit; in the log before the agent is asked again. */
  async refuse(parts: readonly Part[], fault: string, usage: Usage | undefined): Promise<void> {
    const turn = this.#turn.number
    const text = cut(parts.map(partText).filter(Boolean).join('\n'))
    this.#unfit = [...this.#unfit, { turn, text, fault, ...(usage && { usage }) }]
    await this.#save({ turn, unfit: this.#unfit })
  }

  /** Keeps which try has asked the user, for the turn that brings the answer. */
  async asks(): Promise<void> {
    const saved = { turn: this.#turn.number, asked: true, unfit: this.#unfit }
    if (this.#unfit.length > 0) await this.#save(saved)
  }

  /** Forgets them: whoever asks in this turn once more begins anew. */
  async giveUp(): Promise<void> {
    if (this.#unfit.length > 0) await this.#save({ turn: this.#turn.number, unfit: [] })
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
