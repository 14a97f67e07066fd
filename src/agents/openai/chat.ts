import { toToolCallsMetadata } from '../../protocol/client-tools.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/types.ts'
import { addUsage, toUsageMetadata, usageOf } from '../../protocol/usage.ts'
import type { Clock } from '../../shared/clock.ts'
import type { AgentEvent, Turn } from '../agent.ts'
import { toRefusal } from '../approval.ts'
import { endOf, failedCall, type ModelToolCall, runTool } from '../run-tool.ts'
import type { Tool } from '../tools.ts'
import { askAbout, isRefused, nextQuestion, ruleOnCalls, takeVerdict } from './approvals.ts'
import { type ChatAnswer, createAssembly } from './assembly.ts'
import type { ChatClient } from './client.ts'
import { malformed } from './errors.ts'
import {
  addRound,
  type CallRuling,
  type ChatProgress,
  endProgress,
  keepConversation,
  openCalls,
  saveProgress,
} from './progress.ts'
import { modelEntry, toolEntry } from './trace.ts'
import type { ChatMessage, ChatRequest, ChatTool } from './wire.ts'
import { createAnswerWriter } from './writer.ts'

/** One answer of a model, with the tools that it may use on the way. */
interface Chat {
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

/**
 * Lets the model answer: its text is streamed, its tool calls run at once and in parallel, and their results go back
 * to it until it calls no more, or one that ends its turn. In the last round it may not call tools, so the loop always
 * ends. A call of a tool that the client runs ends the turn too; our own tools of that round are not run, since their
 * results could not be told, and the model may call them again. Calls that need the user's yes wait until the others of
 * their round have run; the user is asked about one at a time, each question ends the turn, and the answer goes on from it.
 */
export async function* runChat(chat: Chat): AsyncGenerator<AgentEvent> {
  const { turn, progress } = chat
  const writer = createAnswerWriter(turn, progress.kept?.artifactId)
  const known = progress.counted ?? progress.usage
  if (known) turn.account?.resume(known)
  await takeVerdict(chat, progress)
  if (isRefused(progress)) {
    yield toRefusal(turn)
    return
  }
  // A question that is asked again needs no more than itself.
  if (!progress.asked?.again) yield* writer.write(progress.text)
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
    turn.account?.check()
    const answer = createAssembly(turn.account, chat.request.model)
    const began = chat.clock.elapsed()
    const back = turn.away()
    try {
      for await (const delta of chat.client.stream(toRequest(chat, progress), turn.signal)) {
        answer.add(delta)
        if (delta.text) yield* writer.write(delta.text)
      }
    } finally {
      if (answer.usage) turn.account?.spend(answer.usage)
      await back()
    }
    traceRound(chat, progress.round, { answer, began })
    calls = progress.round < chat.maxToolRounds ? answer.toolCalls() : []
    if (calls.length === 0) {
      if (progress.text + answer.text === '') throw emptyAnswer(chat.agent, answer.finish)
      if (progress.added.length > 0) await endProgress(turn, progress)
      yield* writer.end(addUsage(progress.usage, answer.usage))
      return
    }
    const forClient = callsFor(chat.clientTools, calls)
    if (forClient.length > 0) {
      if (progress.added.length > 0) await endProgress(turn, progress)
      const usage = addUsage(progress.usage, answer.usage)
      yield* writer.end(usage, undefined, toToolCallsMetadata(forClient))
      return
    }
    addRound(progress, answer.text, { calls, usage: answer.usage })
    await ruleOnCalls(chat, calls, progress)
    await saveProgress(turn, progress)
  }
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

function toRequest(chat: Chat, progress: ChatProgress): ChatRequest {
  const { request, tools, parallelToolCalls } = chat
  const messages = [...request.messages, ...progress.added]
  if (tools.length === 0) return { ...request, messages }
  const mayCall = progress.round < chat.maxToolRounds
  return {
    ...request,
    messages,
    tools: tools.map(toChatTool),
    tool_choice: mayCall ? 'auto' : 'none',
    // Services refuse it where there are no tools.
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
  }
}

/** Asks about the next call that waits for the user's word. */
async function askUser(chat: Chat, artifactId: string): Promise<AgentEvent> {
  const { turn, progress, request } = chat
  await keepConversation(turn, progress, { messages: request.messages, artifactId })
  return askAbout(chat, progress)
}

/**
 * Each call's result is in the log before the model hears of it, and stays with the task: neither a turn that runs again
 * after a crash, nor the turn after a question that another call of the round has asked, does its work twice.
 */
async function runCalls(
  chat: Chat,
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
  { turn, tools, agent, clock, progress: { round } }: Chat,
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
  turn.trace(toolEntry({ agent, round, durationMs }, call, result))
  const { content } = result
  const used = turn.account?.used
  // An agent that is a tool has costs of its own: the turn has counted them, and nobody will tell them again.
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

function traceRound(
  { agent, request, clock, turn }: Chat,
  round: number,
  { answer, began }: { readonly answer: ChatAnswer; readonly began: number },
): void {
  const durationMs = Math.round(clock.elapsed() - began)
  turn.trace(modelEntry({ agent, round, durationMs }, request.model, answer))
}

function toChatTool({ name, description, parameters }: Tool): ChatTool {
  return { type: 'function', function: { name, description, parameters } }
}

function emptyAnswer(agent: string, finish: string | undefined): A2AError {
  if (finish === 'content_filter')
    return new A2AError('processingError', `The model of ${agent} withheld its answer`)
  return malformed(agent, 'gave an empty answer')
}
