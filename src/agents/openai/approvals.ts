import type { JsonObject } from '../../protocol/types.ts'
import { newId } from '../../shared/ids.ts'
import { toPrintable } from '../../shared/text.ts'
import type { Draft, Turn } from '../agent.ts'
import { askedAgain, readVerdict, verdictNames } from '../approval.ts'
import { type ModelToolCall, parseArguments, ruleOn } from '../run-tool.ts'
import type { Tool } from '../tools.ts'
import {
  type AskedQuestion,
  type ChatProgress,
  isAnswered,
  openCalls,
  saveProgress,
} from './progress.ts'
import { approvalEntry } from './trace.ts'

/** Whose tools are called. */
interface Caller {
  readonly agent: string
  readonly tools: readonly Tool[]
  readonly turn: Turn
}

/** Decides, before the calls of a round are kept, which of them the user is asked about. What is kept is not decided again. */
export async function ruleOnCalls(
  { tools, turn }: Caller,
  calls: readonly ModelToolCall[],
  progress: ChatProgress,
): Promise<void> {
  if (!tools.some(({ approval }) => approval !== undefined && approval !== false)) return
  const rulings = await Promise.all(calls.map((call) => ruleOn(tools, call, turn.log)))
  const entries = rulings.flatMap((ruling, place) => (ruling ? [[place, ruling] as const] : []))
  if (entries.length > 0) progress.rulings = Object.fromEntries(entries)
}

/**
 * Reads what the user says to the question that the task waits with, where this turn brings it: the verdict is kept
 * before anyone acts on it. What is neither a yes nor a no has the question asked again.
 */
export async function takeVerdict({ agent, turn }: Caller, progress: ChatProgress): Promise<void> {
  const { asked } = progress
  if (!asked || !isAnswered(turn, progress)) return
  const call = openCalls(progress)[asked.place]
  const verdict = readVerdict(turn.message.parts)
  if (call) turn.trace(approvalEntry(agent, call, verdictNames[verdict]))
  if (verdict === 'unclear') progress.asked = questionOf(turn, asked.place, true)
  else {
    progress.rulings = { ...progress.rulings, [asked.place]: verdict }
    progress.asked = undefined
  }
  await saveProgress(turn, progress)
}

/** Whether the user has said no to a call. */
export function isRefused({ rulings }: ChatProgress): boolean {
  return Object.values(rulings ?? {}).includes('no')
}

/** The place of the first call that waits for the user's word; undefined where none does. */
export function nextQuestion({ rulings }: ChatProgress): number | undefined {
  const waiting = Object.entries(rulings ?? {}).find(([, ruling]) => ruling === 'ask')
  return waiting && Number(waiting[0])
}

/**
 * Asks the user about the next call that waits for a word. The question is kept before it is asked, and is the same when
 * the turn runs again.
 */
export async function askAbout({ agent, turn }: Caller, progress: ChatProgress): Promise<Draft> {
  const asked = progress.asked ?? questionOf(turn, nextQuestion(progress) ?? 0, false)
  if (asked !== progress.asked) {
    progress.asked = asked
    await saveProgress(turn, progress)
  }
  const call = openCalls(progress)[asked.place] ?? noCall
  const words = `${asked.again ? askedAgain : ''}${toWords(agent, call)}`
  const parts = [{ text: words }, { data: toData(agent, call) }]
  const message = { ...turn.reply(parts), messageId: asked.messageId }
  return { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED', message } } }
}

/** Never asked about: a question is about a call of its round. */
const noCall: ModelToolCall = { id: '', name: '', arguments: '' }

function questionOf(turn: Turn, place: number, again: boolean): AskedQuestion {
  return { turn: turn.number, place, messageId: newId(), again }
}

/** As much of the arguments as a person reads before a yes; that something is left out is said. */
const maxShown = 20_000

/** The question for a person. No character of the arguments can hide or turn others round. */
function toWords(agent: string, call: ModelToolCall): string {
  const text = toPrintable(JSON.stringify(parseArguments(call.arguments) ?? {}, null, 2))
  const left = text.length - maxShown
  const shown = left > 0 ? text.slice(0, maxShown) : text
  const cut = left > 0 ? `\n[… ${left} characters of the arguments are not shown]` : ''
  const what = text === '{}' ? 'without arguments.' : `with:\n\`\`\`json\n${shown}\n\`\`\`${cut}`
  return `${agent} wants to run the tool ${call.name} ${what}\n\nMay it? Answer yes or no.\n`
}

/** The question for a program. Arguments that are too long are the beginning of their JSON as a text. */
function toData(agent: string, { name: tool, arguments: written }: ModelToolCall): JsonObject {
  const args = parseArguments(written) ?? {}
  const text = JSON.stringify(args)
  const left = text.length - maxShown
  if (left <= 0) return { approval: { agent, tool, arguments: args } }
  return { approval: { agent, tool, arguments: text.slice(0, maxShown), notShown: left } }
}
