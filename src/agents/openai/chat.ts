import { A2AError } from '../../protocol/errors.ts'
import { addUsage, type Usage } from '../../protocol/usage.ts'
import { digestOf, newId } from '../../shared/ids.ts'
import type { AgentEvent, Turn } from '../agent.ts'
import { type ModelToolCall, runTool, type Tool } from '../tools.ts'
import { createAssembly } from './assembly.ts'
import type { ChatClient } from './client.ts'
import { malformed } from './errors.ts'
import type { ChatMessage, ChatRequest, ChatTool } from './wire.ts'
import { createAnswerWriter } from './writer.ts'

/** One answer of a model, with the tools that it may use on the way. */
interface Chat {
  readonly agent: string
  readonly client: ChatClient
  /** Model and sampling; the messages are the conversation up to and with the user's. */
  readonly request: ChatRequest
  readonly tools: readonly Tool[]
  /** How often the model may call tools before it must answer. */
  readonly maxToolRounds: number
  readonly turn: Turn
}

/** How far an answer has come; saved before tools run, so that a turn which runs again goes on from there. */
interface Progress {
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
 * Lets the model answer: its text is streamed, its tool calls run at once and in parallel, and their results go back
 * to it until it calls no more. In the last round it may not call tools, so the loop always ends.
 */
export async function* runChat(chat: Chat): AsyncGenerator<AgentEvent> {
  const { turn } = chat
  const writer = createAnswerWriter(turn)
  const progress = await loadProgress(turn)
  yield* writer.write(progress.text)
  let calls = openCalls(progress)
  while (true) {
    if (calls.length > 0) {
      progress.added.push(...(await runCalls(chat, calls, progress)))
      progress.round++
    }
    const answer = createAssembly()
    const back = turn.away()
    try {
      for await (const delta of chat.client.stream(toRequest(chat, progress), turn.signal)) {
        answer.add(delta)
        if (delta.text) yield* writer.write(delta.text)
      }
    } finally {
      await back()
    }
    const usage = addUsage(progress.usage, answer.usage)
    traceRound(chat, progress.round, answer)
    calls = progress.round < chat.maxToolRounds ? answer.toolCalls() : []
    if (calls.length === 0) {
      if (progress.text + answer.text === '') throw emptyAnswer(chat.agent, answer.finish)
      // A later turn begins anew; this one, should a crash make it run again, goes on from before its last round.
      if (progress.added.length > 0)
        await turn.save(progressKey, JSON.stringify({ ...progress, over: turn.number }))
      yield* writer.end(usage)
      return
    }
    progress.text += answer.text
    progress.usage = usage
    progress.added.push(toAssistant(answer.text, calls))
    await turn.save(progressKey, JSON.stringify(progress))
  }
}

/** What an interrupted run of this turn came to; the ids of messages may differ from run to run, their words do not. */
async function loadProgress(turn: Turn): Promise<Progress> {
  const digest = await digestOf(turn.message.parts)
  const saved = turn.load(progressKey)
  if (typeof saved === 'string') {
    const progress: Progress = JSON.parse(saved) // what the loop above saved
    const isOver = progress.over !== undefined && progress.over !== turn.number
    if (progress.digest === digest && !isOver) return progress
  }
  return { id: newId(), digest, round: 0, text: '', usage: undefined, added: [] }
}

/** Calls that were wished for and whose results are not there: the crash came in between. */
function openCalls(progress: Progress): readonly ModelToolCall[] {
  const last = progress.added.at(-1)
  if (last?.role !== 'assistant') return []
  return (last.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }))
}

function toRequest(chat: Chat, progress: Progress): ChatRequest {
  const messages = [...chat.request.messages, ...progress.added]
  if (chat.tools.length === 0) return { ...chat.request, messages }
  const mayCall = progress.round < chat.maxToolRounds
  return {
    ...chat.request,
    messages,
    tools: chat.tools.map(toChatTool),
    tool_choice: mayCall ? 'auto' : 'none',
  }
}

/**
 * Each call's result is in the log before the model hears of it, and stays with the task: neither a turn that runs again
 * after a crash, nor the turn after a question that another call of the round has asked, does its work twice.
 */
function runCalls(
  chat: Chat,
  calls: readonly ModelToolCall[],
  { id, round }: Progress,
): Promise<readonly ChatMessage[]> {
  return Promise.all(
    calls.map(async (call, index): Promise<ChatMessage> => {
      const content = await runOnce(chat, call, { key: `tool:${id}:${round}:${index}`, round })
      return { role: 'tool', tool_call_id: call.id, content }
    }),
  )
}

async function runOnce(
  { turn, tools, agent }: Chat,
  call: ModelToolCall,
  { key, round }: { readonly key: string; readonly round: number },
): Promise<string> {
  const known = turn.load(key)
  if (typeof known === 'string') return known
  const { content, failed } = await runTool(tools, call, { signal: turn.signal, turn })
  // A call that asked the user has stopped the turn: it has no result yet.
  turn.signal.throwIfAborted()
  turn.trace({ type: 'tool', agent, tool: call.name, round, failed })
  await turn.save(key, content)
  return content
}

function traceRound(
  chat: Chat,
  round: number,
  answer: { readonly usage: Usage | undefined; readonly finish: string | undefined },
): void {
  const { agent, request, turn } = chat
  turn.trace({
    type: 'model',
    agent,
    model: request.model,
    round,
    ...(answer.finish !== undefined && { finish: answer.finish }),
    ...(answer.usage && {
      inputTokens: answer.usage.inputTokens,
      outputTokens: answer.usage.outputTokens,
    }),
  })
}

function toAssistant(text: string, calls: readonly ModelToolCall[]): ChatMessage {
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    tool_calls: calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })),
  }
}

function toChatTool({ name, description, parameters }: Tool): ChatTool {
  return { type: 'function', function: { name, description, parameters } }
}

function emptyAnswer(agent: string, finish: string | undefined): A2AError {
  if (finish === 'content_filter')
    return new A2AError('processingError', `The model of ${agent} withheld its answer`)
  return malformed(agent, 'gave an empty answer')
}
