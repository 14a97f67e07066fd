import { addUsage, type Usage } from '../../protocol/usage.ts'
import { digestOf, newId } from '../../shared/ids.ts'
import type { Turn } from '../agent.ts'
import type { ModelToolCall } from '../tools.ts'
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
  /** What model and tools said in this turn. */
  readonly added: ChatMessage[]
}

const progressKey = 'openai'

/**
 * What an interrupted run of this turn came to, else a beginning; the ids of messages may differ from run to run, their
 * words do not. A beginning counts the tokens that were `spent` before it.
 */
export async function loadProgress(turn: Turn, spent: Usage | undefined): Promise<ChatProgress> {
  const digest = await digestOf(turn.message.parts)
  const saved = turn.load(progressKey)
  if (typeof saved === 'string') {
    const progress: ChatProgress = JSON.parse(saved) // what saveProgress saved
    const isOver = progress.over !== undefined && progress.over !== turn.number
    if (progress.digest === digest && !isOver) return progress
    // Asked again in the same turn for an answer that fits: what the tools have given stays given.
    if (progress.over === turn.number && turn.outputSchema)
      return { id: newId(), digest, round: 0, text: '', usage: spent, added: progress.added }
  }
  return { id: newId(), digest, round: 0, text: '', usage: spent, added: [] }
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
