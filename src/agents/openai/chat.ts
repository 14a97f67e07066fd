import { A2AError } from '../../protocol/errors.ts'
import {
  addUsage,
  estimateUsage,
  toFinishMetadata,
  toToolCallsMetadata,
  toUsageMetadata,
  type Usage,
  usageOf,
} from '../../protocol/extensions.ts'
import { textOf } from '../../protocol/task.ts'
import type { JsonObject } from '../../protocol/types.ts'
import type { Clock } from '../../shared/clock.ts'
import { digestOf, newId } from '../../shared/ids.ts'
import { toPrintable } from '../../shared/text.ts'
import type { Account, AgentEvent, Draft, Turn } from '../agent.ts'
import { ModelRefusal } from '../reply.ts'
import {
  askedAgain,
  endOf,
  failedCall,
  type ModelToolCall,
  parseArguments,
  type Ruling,
  readVerdict,
  ruleOn,
  runTool,
  type Tool,
  toRefusal,
  verdictNames,
} from '../tools.ts'
import { approvalEntry, type ChatClient, modelEntry, toolEntry } from './client.ts'
import { type ChatMessage, type ChatRequest, fromChatToolCall, toChatToolCall } from './messages.ts'
import { ChatAnswer, malformed } from './read.ts'

/** One answer of a model, with the tools that it may use on the way. */
export interface ModelChat {
  readonly agent: string
  readonly client: ChatClient
  /** Model and sampling; the messages are the conversation up to and with the user's. */
  readonly request: ChatRequest
  readonly tools: readonly Tool[]
  /** Those of them that the client runs, each with the name that it has there. */
  readonly clientTools: ReadonlyMap<string, string>
  /** Whether the model may call several tools at once; the service's default if absent. */
  readonly parallelToolCalls?: boolean | undefined
  /** How often the model may call tools before it must answer. */
  readonly maxToolRounds: number
  /** How far the answer has come; it goes on from there. */
  readonly progress: ChatProgress
  readonly clock: Clock
  readonly turn: Turn
}

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
  /** What the whole turn had used when this was saved, with agents that are tools, where an account counts. */
  readonly counted?: Usage
  /** What model and tools said since the question. */
  readonly added: ChatMessage[]
  /** What holds for calls of this round before they run, by their places; nothing for those that just run. */
  rulings?: Readonly<Record<number, CallRuling>>
  /** The question that the task waits with. */
  asked?: AskedQuestion | undefined
  /** The conversation that an answer over several turns goes on from, and the artifact that it stands in. */
  kept?: { readonly key: string; readonly artifactId: string }
}

/** What holds for a call: it needs the user's word, has it, or does not run at all. */
type CallRuling = NonNullable<Ruling> | 'yes' | 'no'

/** A question to the user about a call of this round. */
interface AskedQuestion {
  /** The turn that asks; a later one brings the answer. */
  readonly turn: number
  /** The call's place among those of the round. */
  readonly place: number
  readonly messageId: string
  /** Whether what the user said to it before was neither a yes nor a no. */
  readonly again: boolean
}

/**
 * Lets the model answer: its text is streamed, its tool calls run at once and in parallel, and their results go back
 * to it until it calls no more, or one that ends its turn. In the last round it may not call tools, so the loop always
 * ends. A call of a tool that the client runs ends the turn too; our own tools of that round are not run, since their
 * results could not be told, and the model may call them again. Calls that need the user's yes wait until the others of
 * their round have run; the user is asked about one at a time, each question ends the turn, and the answer goes on from it.
 */
export async function* runChat(open: () => Promise<ModelChat>): AsyncGenerator<AgentEvent> {
  const chat = await open()
  const { turn, progress } = chat
  const writer = new AnswerWriter(turn, progress.kept?.artifactId)
  const known = progress.counted ?? progress.usage
  if (known) turn.account?.resume(known)
  await takeVerdict(chat)
  if (Object.values(progress.rulings ?? {}).includes('no')) {
    yield toRefusal(turn)
    return
  }
  // A question that is asked again needs no more than itself.
  if (!progress.asked?.again && progress.text !== '') yield writer.write(progress.text)
  let calls = openCalls(progress)
  while (true) {
    if (calls.length > 0) {
      const results = await runCalls(chat, calls)
      if (nextQuestion(progress) !== undefined) {
        yield await askUser(chat, writer.artifactId)
        return
      }
      const said = endOf(chat.tools, calls)
      if (said) {
        await endProgress(turn, progress)
        yield* writer.end(progress.usage, said)
        return
      }
      progress.added.push(...results)
      progress.round++
    }
    const answer = yield* askModel(chat, writer)
    calls = progress.round < chat.maxToolRounds ? answer.toolCalls() : []
    if (calls.length > maxCallsAtOnce) throw tooManyCalls(chat, calls)
    if (calls.length === 0) {
      const usage = addUsage(progress.usage, answer.usage)
      if (answer.refusal !== '') throw new ModelRefusal(answer.refusal, usage)
      if (progress.text + answer.text === '') throw emptyAnswer(chat, answer)
      if (progress.added.length > 0) await endProgress(turn, progress)
      yield* writer.end(usage, undefined, toFinishMetadata(answer.finish))
      return
    }
    const forClient = callsFor(chat.clientTools, calls)
    if (forClient.length > 0) {
      if (progress.added.length > 0) await endProgress(turn, progress)
      const usage = addUsage(progress.usage, answer.usage)
      yield* writer.end(usage, undefined, toToolCallsMetadata(forClient))
      return
    }
    addRound(progress, answer, calls)
    await ruleOnCalls(chat, calls)
    await saveProgress(turn, progress)
  }
}

/** How many tools a model may call in one answer: each is a step of the log, and all of them run at once. */
const maxCallsAtOnce = 128

function tooManyCalls({ agent }: ModelChat, calls: readonly ModelToolCall[]): A2AError {
  return malformed(agent, `called ${calls.length} tools at once; at most ${maxCallsAtOnce} may be`)
}

/**
 * Reads what the user says to the question that the task waits with, where this turn brings it: the verdict is kept
 * before anyone acts on it. What is neither a yes nor a no has the question asked again.
 */
async function takeVerdict({ agent, turn, progress }: ModelChat): Promise<void> {
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

/**
 * Each call's result is in the log before the model hears of it, and stays with the task: neither a turn that runs again
 * after a crash, nor the turn after a question that another call of the round has asked, does its work twice.
 */
async function runCalls(
  chat: ModelChat,
  calls: readonly ModelToolCall[],
): Promise<readonly ChatMessage[]> {
  const { id, round, rulings } = chat.progress
  const results = await Promise.all(
    calls.map(async (call, place): Promise<readonly ChatMessage[]> => {
      const ruling = rulings?.[place]
      if (ruling === 'ask') return []
      const content = await runOnce(chat, call, { key: `tool:${id}:${round}:${place}`, ruling })
      return [{ role: 'tool', tool_call_id: call.id, content }]
    }),
  )
  return results.flat()
}

async function runOnce(
  { turn, tools, agent, clock, progress: { round } }: ModelChat,
  call: ModelToolCall,
  { key, ruling }: { readonly key: string; readonly ruling: CallRuling | undefined },
): Promise<string> {
  const known = knownResult(turn, key)
  if (known !== undefined) return known
  const usedBefore = turn.account?.used
  const began = clock.elapsed()
  const result =
    typeof ruling === 'object'
      ? failedCall(ruling.fault)
      : await runTool(tools, call, { signal: turn.signal, turn, key })
  // A call that asked the user has stopped the turn: it has no result yet.
  turn.signal.throwIfAborted()
  const durationMs = Math.round(clock.elapsed() - began)
  turn.trace(toolEntry({ agent, round, durationMs }, call, result), result.error)
  const { content } = result
  const used = turn.account?.used
  // An agent that is a tool has costs of its own: the turn has counted them, and they are not reported again.
  const costs = used !== undefined && used !== usedBefore
  await turn.save(key, costs ? { content, ...toUsageMetadata(used) } : content)
  return content
}

/** What a call has given before a crash or a question; what had been used by then is counted again. */
function knownResult(turn: Turn, key: string): string | undefined {
  const known = turn.load(key)
  if (known === undefined || typeof known === 'string') return known
  const result: object = Object(known)
  const { content, ...metadata } = result as { readonly content: string } & JsonObject // as runOnce saves it
  const used = usageOf(metadata)
  if (used) turn.account?.resume(used)
  return content
}

/** The place of the first call that waits for the user's word; undefined where none does. */
function nextQuestion({ rulings }: ChatProgress): number | undefined {
  const waiting = Object.entries(rulings ?? {}).find(([, ruling]) => ruling === 'ask')
  return waiting && Number(waiting[0])
}

/**
 * Asks the user about the next call that waits for a word. The question is kept before it is asked, and is the same when
 * the turn runs again.
 */
async function askUser(chat: ModelChat, artifactId: string): Promise<Draft> {
  const { agent, turn, progress, request } = chat
  await keepConversation(turn, progress, { messages: request.messages, artifactId })
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

/** One round: the model's text is passed on as it comes, and what it used is spent whatever becomes of it. */
async function* askModel(
  chat: ModelChat,
  writer: AnswerWriter,
): AsyncGenerator<AgentEvent, ChatAnswer> {
  const { agent, client, request, progress, clock, turn } = chat
  turn.account?.check()
  const answer = new ChatAnswer(turn.account, request.model)
  const began = clock.elapsed()
  const back = turn.away()
  try {
    const asked = toRequest(chat)
    for await (const deltas of await client.stream(asked, turn.signal))
      for (const delta of deltas) {
        answer.add(delta)
        if (delta.text) yield writer.write(delta.text)
      }
    estimateUnreported(turn.account, asked, answer)
  } finally {
    if (answer.usage) turn.account?.spend(answer.usage)
    await back()
  }
  const durationMs = Math.round(clock.elapsed() - began)
  turn.trace(modelEntry({ agent, round: progress.round, durationMs }, request.model, answer))
  return answer
}

/** Where the service does not report what the answer used, an account may want an estimate. */
function estimateUnreported(
  account: Account | undefined,
  { messages, tools }: ChatRequest,
  answer: ChatAnswer,
): void {
  if (answer.usage || !account) return
  const calls = answer.toolCalls().map(({ name, arguments: args }) => name + args)
  const input = JSON.stringify(tools ? [messages, tools] : messages)
  const output = answer.text + answer.reasoning + calls.join('')
  const usage = account.unreported(estimateUsage(input, output))
  if (usage) answer.add({ usage })
}

function toRequest(chat: ModelChat): ChatRequest {
  const { request, tools, parallelToolCalls, progress } = chat
  const messages = [...request.messages, ...progress.added]
  if (tools.length === 0) return { ...request, messages }
  const mayCall = progress.round < chat.maxToolRounds
  return {
    ...request,
    messages,
    tools: tools.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    })),
    tool_choice: mayCall ? 'auto' : 'none',
    // Services refuse it where there are no tools.
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
  }
}

/**
 * Writes a turn's answer piece by piece as chunks of one artifact. Every piece goes out at once; the usage, which is known
 * only after the text, stands on a last chunk of its own. The first chunk begins the artifact anew: a turn that runs again,
 * or that goes on with the answer of an earlier one, replaces what was half said.
 */
class AnswerWriter {
  readonly artifactId: string
  readonly #turn: Turn
  #begun = false

  constructor(turn: Turn, artifactId: string = answerId(turn)) {
    this.artifactId = artifactId
    this.#turn = turn
  }

  /** The event for one more piece of text. */
  write(text: string): Draft {
    return this.#chunk(text)
  }

  /**
   * The last chunk: no text, but the usage in the artifact's metadata. What else is `said` of the answer, such as who goes
   * on, stands on a status of its own before it: a team reads it there, and it does not stay with the artifact. What
   * belongs to the answer itself, such as calls of the client's tools, does (`more`).
   */
  *end(usage: Usage | undefined, said?: JsonObject, more?: JsonObject): Iterable<Draft> {
    if (said) yield { statusUpdate: { status: { state: 'TASK_STATE_WORKING' }, metadata: said } }
    yield this.#chunk('', { metadata: { ...(usage && toUsageMetadata(usage)), ...more } })
  }

  #chunk(text: string, last?: { readonly metadata: JsonObject }): Draft {
    const { artifactId } = this
    const parts = [{ text }]
    // Written out, since there is one for every few letters.
    if (this.#begun && !last) return this.#turn.artifact({ artifactId, parts }, appending)
    const artifact = {
      artifactId,
      ...(!this.#begun && { name: 'response' }),
      parts,
      ...(last && Object.keys(last.metadata).length > 0 && { metadata: last.metadata }),
    }
    const options = { ...(this.#begun && appending), ...(last && { lastChunk: true }) }
    this.#begun = true
    return this.#turn.artifact(artifact, options)
  }
}

const appending = { append: true } as const

/** A task's later turns answer in artifacts of their own, numbered as the engine numbers plain answers. */
function answerId({ history, message }: Turn): string {
  const earlier = history.filter(
    ({ role, messageId }) => role === 'ROLE_USER' && messageId !== message.messageId,
  )
  return earlier.length === 0 ? 'response' : `response-${earlier.length + 1}`
}

/** Why there is no answer. */
function emptyAnswer({ agent, maxToolRounds }: ModelChat, answer: ChatAnswer): A2AError {
  if (answer.toolCalls().length > 0) {
    const rounds = maxToolRounds === 1 ? 'round' : `${maxToolRounds} rounds`
    const words = `The model of ${agent} has called tools in the ${rounds} that it may and not answered`
    return new A2AError('toolRoundLimit', `${words}; raise max_tool_rounds`)
  }
  const model = `The model of ${agent}`
  if (answer.finish === 'content_filter')
    return new A2AError('processingError', `${model} withheld its answer`)
  if (answer.finish === 'length') {
    const words = `${model} used up its tokens before it answered; raise max_tokens`
    return new A2AError('processingError', words)
  }
  return malformed(agent, 'gave an empty answer')
}

/** The calls of tools that the client runs, by the names that it gave them. */
function callsFor(
  clientTools: ReadonlyMap<string, string>,
  calls: readonly ModelToolCall[],
): readonly ModelToolCall[] {
  return calls.flatMap((call) => {
    const name = clientTools.get(call.name)
    return name === undefined ? [] : [{ ...call, name }]
  })
}

/** Takes in what the model said in one round: its words, its calls and what they cost. */
function addRound(
  progress: ChatProgress,
  { text, usage, returned }: ChatAnswer,
  calls: readonly ModelToolCall[],
): void {
  delete progress.rulings
  progress.text += text
  progress.usage = addUsage(progress.usage, usage)
  progress.added.push({
    role: 'assistant',
    content: text === '' ? null : text,
    ...returned,
    tool_calls: calls.map(toChatToolCall),
  })
}

/** Decides, before the calls of a round are kept, which of them the user is asked about. What is kept is not decided again. */
async function ruleOnCalls(
  { tools, turn, progress }: ModelChat,
  calls: readonly ModelToolCall[],
): Promise<void> {
  if (!tools.some(({ approval }) => approval !== undefined && approval !== false)) return
  const rulings = await Promise.all(calls.map((call) => ruleOn(tools, call, turn.log)))
  const entries = rulings.flatMap((ruling, place) => (ruling ? [[place, ruling] as const] : []))
  if (entries.length > 0) progress.rulings = Object.fromEntries(entries)
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
function isAnswered(turn: Turn, { asked }: ChatProgress): boolean {
  return asked !== undefined && asked.turn < turn.number
}

/** Keeps the conversation that an answer goes on from, for turns whose message is the user's word on a call. */
async function keepConversation(
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
function saveProgress(turn: Turn, progress: ChatProgress): Promise<void> {
  const counted = turn.account?.used
  return turn.save(progressKey, JSON.stringify(counted ? { ...progress, counted } : progress))
}

/** Keeps that the answer has come to its end: a later turn begins anew, this one goes on from here should it run again. */
function endProgress(turn: Turn, progress: ChatProgress): Promise<void> {
  return saveProgress(turn, { ...progress, over: turn.number })
}

/** Calls that were wished for and whose results are not there: the crash came in between. */
function openCalls(progress: ChatProgress): readonly ModelToolCall[] {
  const last = progress.added.at(-1)
  if (last?.role !== 'assistant') return []
  return (last.tool_calls ?? []).map(fromChatToolCall)
}
