import { toToolCallsMetadata } from '../../protocol/client-tools.ts'
import { A2AError } from '../../protocol/errors.ts'
import { addUsage, type Usage } from '../../protocol/usage.ts'
import type { Clock } from '../../shared/clock.ts'
import type { AgentEvent, Turn } from '../agent.ts'
import { endOf, type ModelToolCall, runTool, type Tool } from '../tools.ts'
import { type ChatAnswer, createAssembly } from './assembly.ts'
import type { ChatClient } from './client.ts'
import { malformed } from './errors.ts'
import {
  addRound,
  type ChatProgress,
  endProgress,
  loadProgress,
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
  /** Tokens that were used for this answer before it began. */
  readonly spent?: Usage | undefined
  readonly clock: Clock
  readonly turn: Turn
}

/**
 * Lets the model answer: its text is streamed, its tool calls run at once and in parallel, and their results go back
 * to it until it calls no more, or one that ends its turn. In the last round it may not call tools, so the loop always
 * ends. A call of a tool that the client runs ends the turn too; our own tools of that round are not run, since their
 * results could not be told, and the model may call them again.
 */
export async function* runChat(chat: Chat): AsyncGenerator<AgentEvent> {
  const { turn } = chat
  const writer = createAnswerWriter(turn)
  const progress = await loadProgress(turn, chat.spent)
  if (progress.usage) turn.account?.resume(progress.usage)
  yield* writer.write(progress.text)
  let calls = openCalls(progress)
  while (true) {
    if (calls.length > 0) {
      const results = await runCalls(chat, calls, progress)
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

/**
 * Each call's result is in the log before the model hears of it, and stays with the task: neither a turn that runs again
 * after a crash, nor the turn after a question that another call of the round has asked, does its work twice.
 */
function runCalls(
  chat: Chat,
  calls: readonly ModelToolCall[],
  { id, round }: ChatProgress,
): Promise<readonly ChatMessage[]> {
  return Promise.all(
    calls.map(async (call, index): Promise<ChatMessage> => {
      const content = await runOnce(chat, call, { key: `tool:${id}:${round}:${index}`, round })
      return { role: 'tool', tool_call_id: call.id, content }
    }),
  )
}

async function runOnce(
  { turn, tools, agent, clock }: Chat,
  call: ModelToolCall,
  { key, round }: { readonly key: string; readonly round: number },
): Promise<string> {
  const known = turn.load(key)
  if (typeof known === 'string') return known
  const began = clock.elapsed()
  const result = await runTool(tools, call, { signal: turn.signal, turn })
  // A call that asked the user has stopped the turn: it has no result yet.
  turn.signal.throwIfAborted()
  const durationMs = Math.round(clock.elapsed() - began)
  turn.trace(toolEntry({ agent, round, durationMs }, call, result))
  await turn.save(key, result.content)
  return result.content
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
