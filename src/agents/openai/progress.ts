import { addUsage, type Usage } from '../../protocol/usage.ts'
import { digestOf, newId } from '../../shared/ids.ts'
import type { Turn } from '../agent.ts'
import type { ModelToolCall, Ruling } from '../run-tool.ts'
import type { ChatMessage } from './wire.ts'

/** How far an answer has come; saved before tools run, so that a turn which runs again goes on from there. */
export interface ChatProgress {
  readonly id: string
  /** Names what is asked. */
  readonly digest: string
  /** The turn in which the answer came to its end. */
  readonly over?: number
  round: number
  text: string
  usage: Usage | undefined
  /** What model and tools said since the question. */
  readonly added: ChatMessage[]
  /** What holds for calls of this round before they run, by their places; nothing for those that just run. */
  rulings?: Readonly<Record<number, CallRuling>>
  /** The question that the task waits with. */
  asked?: AskedQuestion | undefined
  /** Where the answer stands, once it goes over several turns. */
  artifactId?: string
}

/** What holds for a call: it needs the user's word, has it, or does not run at all. */
export type CallRuling = NonNullable<Ruling> | 'yes' | 'no'

/** A question to the user about a call of this round. */
export interface AskedQuestion {
  /** The turn that asks; a later one brings the answer. */
  readonly turn: number
  /** The call's place among those of the round. */
  readonly place: number
  readonly messageId: string
  /** Whether what the user said to it before was neither a yes nor a no. */
  readonly again: boolean
}

const progressKey = 'openai'

/**
 * What an interrupted run of this turn came to, or an answer that waits for what the user says in this turn, else a
 * beginning; the ids of messages may differ from run to run, their words do not.
 */
export async function loadProgress(turn: Turn): Promise<ChatProgress> {
  const digest = await digestOf(turn.message.parts)
  const saved = turn.load(progressKey)
  if (typeof saved === 'string') {
    const progress: ChatProgress = JSON.parse(saved) // what saveProgress saved
    const isOver = progress.over !== undefined && progress.over !== turn.number
    if (isAnswered(turn, progress)) return { ...progress, digest }
    if (progress.digest === digest && !isOver) return progress
  }
  return { id: newId(), digest, round: 0, text: '', usage: undefined, added: [] }
}

/** Whether the turn's message is what the user says to the question that the task waits with. */
export function isAnswered(turn: Turn, { asked }: ChatProgress): boolean {
  return asked !== undefined && asked.turn < turn.number
}

/** Keeps the conversation that an answer goes on from, for turns whose message is the user's word on a call. */
export function keepConversation(
  turn: Turn,
  { id }: ChatProgress,
  messages: readonly ChatMessage[],
): Promise<void> {
  return turn.save(`${progressKey}:${id}`, JSON.stringify(messages))
}

/** The conversation that the answer goes on from; undefined where it goes on from the turn's own. */
export function keptConversation(
  turn: Turn,
  { id, artifactId }: ChatProgress,
): readonly ChatMessage[] | undefined {
  const kept = artifactId === undefined ? undefined : turn.load(`${progressKey}:${id}`)
  return typeof kept === 'string' ? JSON.parse(kept) : undefined // what keepConversation saved
}

/** Keeps how far the answer has come. */
export function saveProgress(turn: Turn, progress: ChatProgress): Promise<void> {
  return turn.save(progressKey, JSON.stringify(progress))
}

/** Keeps that the answer has come to its end: a later turn begins anew, this one goes on from here should it run again. */
export function endProgress(turn: Turn, progress: ChatProgress): Promise<void> {
  return saveProgress(turn, { ...progress, over: turn.number })
}

/** Calls that were wished for and whose results are not there: the crash came in between. */
export function openCalls(progress: ChatProgress): readonly ModelToolCall[] {
  const last = progress.added.at(-1)
  if (last?.role !== 'assistant') return []
  return (last.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }))
}

/** Takes in what the model said in one round: its words, its calls and what they cost. */
export function addRound(
  progress: ChatProgress,
  text: string,
  round: { readonly calls: readonly ModelToolCall[]; readonly usage: Usage | undefined },
): void {
  delete progress.rulings
  progress.text += text
  progress.usage = addUsage(progress.usage, round.usage)
  progress.added.push({
    role: 'assistant',
    content: text === '' ? null : text,
    tool_calls: round.calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })),
  })
}
