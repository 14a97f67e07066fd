import { textOf } from '../../protocol/task.ts'
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
  /** What the whole turn had used when this was saved, with agents that are tools, where somebody counts. */
  readonly counted?: Usage
  /** What model and tools said since the question. */
  readonly added: ChatMessage[]
  /** What holds for calls of this round before they run, by their places; nothing for those that just run. */
  rulings?: Readonly<Record<number, CallRuling>>
  /** The question that the task waits with. */
  asked?: AskedQuestion | undefined
  /** What an answer that goes over several turns goes on from. */
  kept?: KeptConversation
}

/** What holds for a call: it needs the user's word, has it, or does not run at all. */
export type CallRuling = NonNullable<Ruling> | 'yes' | 'no'

/** The conversation that an answer goes on from whatever is said since, and the artifact that it stands in. */
interface KeptConversation {
  readonly key: string
  readonly artifactId: string
}

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
    // Asked again in the same turn for an answer that fits: what the tools have given stays given.
    if (progress.over === turn.number && turn.outputSchema)
      return begin(digest, again(progress, turn))
  }
  return begin(digest)
}

function begin(
  digest: string,
  more: Pick<ChatProgress, 'kept'> & { readonly added?: ChatMessage[] } = {},
): ChatProgress {
  return { id: newId(), digest, round: 0, text: '', usage: undefined, added: [], ...more }
}

/** An answer that goes on from a conversation of an earlier turn hears there why it is asked for again. */
function again(
  { added, kept }: ChatProgress,
  { message }: Turn,
): Pick<ChatProgress, 'added' | 'kept'> {
  if (!kept) return { added }
  return { added: [...added, { role: 'user', content: textOf(message.parts) }], kept }
}

/** Whether the turn's message is what the user says to the question that the task waits with. */
export function isAnswered(turn: Turn, { asked }: ChatProgress): boolean {
  return asked !== undefined && asked.turn < turn.number
}

/** Keeps the conversation that an answer goes on from, for turns whose message is the user's word on a call. */
export async function keepConversation(
  turn: Turn,
  progress: ChatProgress,
  from: { readonly messages: readonly ChatMessage[]; readonly artifactId: string },
): Promise<void> {
  if (progress.kept) return
  const key = `${progressKey}:${progress.id}`
  await turn.save(key, JSON.stringify(from.messages))
  progress.kept = { key, artifactId: from.artifactId }
}

/** The conversation that the answer goes on from; undefined where it goes on from the turn's own. */
export function keptConversation(
  turn: Turn,
  { kept }: ChatProgress,
): readonly ChatMessage[] | undefined {
  const messages = kept && turn.load(kept.key)
  return typeof messages === 'string' ? JSON.parse(messages) : undefined // what keepConversation saved
}

/** Keeps how far the answer has come. */
export function saveProgress(turn: Turn, progress: ChatProgress): Promise<void> {
  const counted = turn.account?.used
  return turn.save(progressKey, JSON.stringify(counted ? { ...progress, counted } : progress))
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
