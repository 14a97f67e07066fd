import type { Json, Message } from '../../protocol/types.ts'
import { toAmounts, type Usage } from '../../protocol/usage.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Turn } from '../agent.ts'
import type { ModelHistory } from '../model-config.ts'
import { elsewhere } from '../wrap.ts'
import type { ChatAnswer } from './assembly.ts'
import type { ChatClient } from './client.ts'
import { bringsHistory, toTranscript } from './messages.ts'
import { modelEntry } from './trace.ts'
import type { ChatRequest } from './wire.ts'

/** Who reads a conversation, and how much of it. */
interface Reader {
  readonly id: string
  readonly name: string
  readonly client: ChatClient
  /** Model and sampling, for the summary. */
  readonly sampling: Omit<ChatRequest, 'messages'>
  readonly maxHistory: number
  readonly history: ModelHistory
  readonly clock: Clock
}

/** What a model hears of a conversation before the message that it answers. */
interface Earlier {
  /** What was said before `messages`, in the model's own words. */
  readonly summary?: string
  readonly messages: readonly Message[]
  /** The tokens that the summary cost in this turn. */
  readonly spent?: Usage | undefined
}

/**
 * The earlier messages of the context, the newest ones whole. Where the model summarises, those before them are put
 * into a summary that stays with the context. It is made anew only when more than `maxHistory` messages have come after
 * what it covers, and then covers all but the newest half of those, so most turns ask for none. A summary that cannot be
 * made is left out: the model then sees the newest messages alone.
 */
export async function readHistory(turn: Turn, reader: Reader): Promise<Earlier> {
  const { maxHistory, history } = reader
  if (maxHistory <= 0 || bringsHistory(turn.message)) return { messages: [] }
  if (history === 'window') return { messages: await earlierMessages(turn, maxHistory) }
  const messages = await earlierMessages(turn, maxHistory + lookBack)
  const key = `corral:summary:${reader.id}`
  const known = toSummary(await turn.context.get(key))
  const covered = known ? messages.findIndex(({ messageId }) => messageId === known.upTo) : -1
  const summary = covered < 0 ? undefined : known
  const rest = messages.slice(covered + 1)
  if (rest.length <= maxHistory)
    return { ...(summary && { summary: summary.text }), messages: rest }
  const kept = Math.ceil(maxHistory / 2)
  const older = rest.slice(0, -kept)
  const made = await summarise(turn, reader, { summary, older })
  if (!made) return { ...(summary && { summary: summary.text }), messages: rest.slice(-maxHistory) }
  turn.context.set(key, { upTo: made.upTo, text: made.text })
  const from = rest.findIndex(({ messageId }) => messageId === made.upTo) + 1
  return { summary: made.text, messages: rest.slice(from).slice(-maxHistory), spent: made.usage }
}

/** How many messages beyond those that a model sees whole are read to be summarised. */
const lookBack = 200

/** The context's messages, then those of this task that are not among them, the newest `limit`. */
async function earlierMessages(turn: Turn, limit: number): Promise<readonly Message[]> {
  const heard = await turn.conversation(limit)
  const known = new Set([turn.message.messageId, ...heard.map((message) => message.messageId)])
  const rest = turn.history.filter((message) => !known.has(message.messageId))
  const current = heard.filter((message) => message.messageId !== turn.message.messageId)
  return [...current, ...rest].slice(-limit)
}

/** What was said up to and with a message. */
interface Summary {
  readonly upTo: string
  readonly text: string
}

type Made = Summary & { readonly usage?: Usage | undefined }

/** Asks the model for a summary, once per turn even across a crash. */
async function summarise(
  turn: Turn,
  reader: Reader,
  from: { readonly summary: Summary | undefined; readonly older: readonly Message[] },
): Promise<Made | undefined> {
  const { client, clock, name } = reader
  // What ends an answer may well stand in a summary.
  const { stop: _, ...sampling } = reader.sampling
  const upTo = from.older.at(-1)?.messageId ?? ''
  const transcript = toTranscript(from.older, from.summary?.text)
  const messages = [
    { role: 'system', content: instruction },
    { role: 'user', content: transcript },
  ] as const
  const began = clock.elapsed()
  try {
    const step = await turn.step('summary', async () => {
      const asked = (): Promise<ChatAnswer> =>
        client.complete({ ...sampling, messages }, turn.signal, turn.account)
      const answer = await elsewhere(turn, asked)
      const durationMs = Math.round(clock.elapsed() - began)
      const entry = modelEntry({ agent: name, round: 0, durationMs }, sampling.model, answer)
      turn.trace({ ...entry, purpose: 'summary' })
      const { usage } = answer
      if (usage) turn.account?.spend(usage)
      const text = answer.text.slice(0, longestSummary)
      return { upTo, text, ...(usage && toAmounts(usage)) }
    })
    const { text, inputTokens, outputTokens, costUsd } = step
    if (text.trim() === '') return undefined
    const isCounted = inputTokens !== undefined && outputTokens !== undefined
    const cost = costUsd !== undefined && { costUsd }
    const usage = isCounted && { usage: { inputTokens, outputTokens, ...cost } }
    return { upTo: step.upTo, text, ...usage }
  } catch (error) {
    turn.signal.throwIfAborted()
    turn.log.warn({ agent: name, error }, 'a conversation could not be summarised')
    return undefined
  }
}

const longestSummary = 20_000

const instruction =
  'Summarise this conversation between a user and an assistant, so that the assistant can go on with it. Keep names, ' +
  'numbers, decisions, wishes and open questions. Answer with the summary alone, in the language of the conversation.'

function toSummary(value: Json | undefined): Summary | undefined {
  if (typeof value !== 'object' || value === null || !('upTo' in value)) return undefined
  const { upTo, text } = value
  return typeof upTo === 'string' && typeof text === 'string' ? { upTo, text } : undefined
}
