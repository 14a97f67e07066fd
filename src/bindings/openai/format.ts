import type { EventStream, Sequenced } from '../../protocol/call.ts'
import { A2AError } from '../../protocol/errors.ts'
import { isInterrupted } from '../../protocol/task.ts'
import type { Part, StreamResponse } from '../../protocol/types.ts'
import { addUsage, toUsageMetadata, type Usage } from '../../protocol/usage.ts'
import { askForJson, jsonTextOf, notJson, refuseAnswer } from '../../shared/json-answer.ts'
import { readAll } from '../ask.ts'
import type { EarlierTurn } from './conversation.ts'
import type { AnswerFormat } from './form.ts'
import { questionText } from './message.ts'
import type { ChatInput } from './request.ts'
import { cutAt } from './stop.ts'
import { createTextReader, type TextReader } from './text.ts'

/** What is needed to get an answer that fits. */
interface FormatOptions {
  readonly format: AnswerFormat
  readonly stop: readonly string[]
  /** Sends a question to the agent. */
  readonly put: (question: ChatInput) => Promise<EventStream>
}

/**
 * Asks for an answer that fits a format. Nothing of it is told before it is whole, since half of it cannot be checked.
 * One that does not fit is asked for once more; then it is an `invalidAgentResponse`. A question, a call of a tool and a
 * failure are no answers: they pass as they are.
 */
export async function askInFormat(
  question: ChatInput,
  options: FormatOptions,
): Promise<EventStream> {
  const { format, put } = options
  // What answers a question, such as an approval's, must stay the word that it is.
  const told = question.taskId !== undefined
  const parts = told ? question.parts : [...question.parts, toInstruction(format)]
  return createFitting(await put({ ...question, parts }), question, options)
}

function createFitting(
  stream: EventStream,
  question: ChatInput,
  options: FormatOptions,
): EventStream {
  const leaving = new AbortController()
  const asked = { stream, question, signal: leaving.signal }
  let isGiven = false
  const iterator: AsyncIterator<readonly Sequenced[]> = {
    async next() {
      if (isGiven) return { done: true, value: undefined }
      isGiven = true
      return { done: false, value: await readFitting(asked, options) }
    },
    // Whoever reads then leaves the agent's own events, which cancels the task.
    async return() {
      leaving.abort()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

/** A question on its way. */
interface Asked {
  readonly stream: EventStream
  readonly question: ChatInput
  readonly signal: AbortSignal
}

async function readFitting(
  { stream: first, question, signal }: Asked,
  { format, stop, put }: FormatOptions,
): Promise<readonly Sequenced[]> {
  let stream = first
  let used: Usage | undefined
  for (let attempt = 1; ; attempt++) {
    const { reader, events } = await readAnswer(stream, signal)
    used = addUsage(used, reader.usage)
    if (!isAnswer(reader)) return events
    const text = jsonTextOf(cutAt(stop, reader.text))
    const fault = text === undefined ? notJson : format.check(JSON.parse(text))
    if (text !== undefined && fault === undefined) return [{ event: toEvent(reader, text, used) }]
    if (attempt === 2) throw unfit(fault)
    const complaint = { text: refuseAnswer(fault ?? notJson) }
    stream = await put(toRepeat(question, reader, [complaint, toInstruction(format)]))
  }
}

/** Asks again where the answer stands: the agent sees what it was asked and what it said. */
function toRepeat(question: ChatInput, answer: TextReader, parts: readonly Part[]): ChatInput {
  const { taskId: _, toolCallId: _id, ...rest } = question
  const { contextId = question.contextId } = answer
  const said: readonly EarlierTurn[] = [
    { role: 'user', content: questionText(question) },
    { role: 'assistant', content: answer.text },
  ]
  const earlier = [...question.earlier, ...said]
  return { ...rest, ...(contextId !== undefined && { contextId }), parts, earlier }
}

function toInstruction({ schema }: AnswerFormat): Part {
  return { text: askForJson(schema) }
}

async function readAnswer(
  stream: EventStream,
  signal: AbortSignal,
): Promise<{ readonly reader: TextReader; readonly events: readonly Sequenced[] }> {
  const reader = createTextReader()
  const events: Sequenced[] = []
  await readAll(stream, signal, (event) => {
    reader.take(event)
    events.push({ event })
  })
  return { reader, events }
}

function isAnswer(reader: TextReader): boolean {
  if (reader.fault() || reader.toolCalls.length > 0) return false
  return reader.state !== undefined && !isInterrupted(reader.state)
}

function toEvent(reader: TextReader, text: string, usage: Usage | undefined): StreamResponse {
  const { taskId, contextId, state } = reader
  const parts = [{ text }]
  const metadata = usage && toUsageMetadata(usage)
  if (taskId === undefined || contextId === undefined || state === undefined) {
    const role = 'ROLE_AGENT'
    const place = { ...(contextId !== undefined && { contextId }), ...(metadata && { metadata }) }
    return { message: { messageId: 'answer', role, parts, ...place } }
  }
  const artifact = { artifactId: 'answer', parts, ...(metadata && { metadata }) }
  return { task: { id: taskId, contextId, status: { state }, artifacts: [artifact] } }
}

function unfit(fault: string | undefined): A2AError {
  const message = `The answer does not fit response_format, after two attempts: ${fault}`
  return new A2AError('invalidAgentResponse', message, { metadata: { openai: 'unfit_answer' } })
}
