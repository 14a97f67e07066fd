import type { ServerResponse } from 'node:http'
import type { Clock } from '../shared/clock.ts'
import type { ModelAnswer, ModelCall, ModelRequest } from './model-script.ts'

/** What an answer is to, and by which time it is delayed. */
interface AnswerContext {
  readonly chat: ModelRequest
  readonly clock: Clock
}

/** What every scripted answer of a model reports as used. */
export const scriptedUsage: Readonly<
  Record<'prompt_tokens' | 'completion_tokens' | 'total_tokens', number>
> = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

/** Writes an answer as a model service does: a stream where one was asked for, else a whole completion. */
export function writeAnswer(
  response: ServerResponse,
  answer: ModelAnswer,
  context: AnswerContext,
): void {
  const { chat, clock } = context
  if (typeof answer === 'string') writeSpoken(response, chat, { texts: [answer] })
  else if ('chunks' in answer) {
    const { chunks: texts, finish } = answer
    writeSpoken(response, chat, { texts, ...(finish && { finish }) })
  } else if ('tools' in answer) {
    const { tools: calls, text } = answer
    writeSpoken(response, chat, { texts: text ? [text] : [], calls, finish: 'tool_calls' })
  } else if ('status' in answer) {
    const body = answer.body ?? { error: { message: 'refused' } }
    writeJson(response, answer.status, body, answer.headers)
  } else if ('delayMs' in answer) {
    const write = (): void => writeAnswer(response, answer.answer, context)
    response.once('close', clock.after(answer.delayMs, write))
  } else if ('whole' in answer)
    writeJson(response, 200, completion(chat, { content: answer.whole }))
  else if (!('silent' in answer)) writeFaulty(response, answer, context)
}

/** Writes JSON, or a text that claims to be some, and ends the response. */
export function writeJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

/** An answer as a model means it. */
interface Spoken {
  readonly texts: readonly string[]
  readonly calls?: readonly ModelCall[]
  readonly finish?: string
}

function writeSpoken(response: ServerResponse, chat: ModelRequest, spoken: Spoken): void {
  const { texts, calls = [], finish = 'stop' } = spoken
  if (chat.stream !== true) {
    const content = texts.length > 0 ? texts.join('') : null
    const tools = calls.map((call, index) => toolCall(call, index, argumentsOf(call)))
    const message = { content, ...(tools.length > 0 && { tool_calls: tools }) }
    writeJson(response, 200, completion(chat, message, finish))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(frame(chunkOf(chat, { role: 'assistant', content: '' }, null)))
  for (const delta of [...textDeltas(texts), ...callDeltas(calls)])
    response.write(frame(chunkOf(chat, delta, null)))
  response.write(frame(chunkOf(chat, {}, finish)))
  if (chat.stream_options?.include_usage)
    response.write(frame({ ...chunkOf(chat, {}, null), choices: [], usage: scriptedUsage }))
  response.end('data: [DONE]\n\n')
}

function writeFaulty(
  response: ServerResponse,
  answer: Extract<
    ModelAnswer,
    { raw: string } | { drip: true } | { hang: unknown } | { broken: unknown }
  >,
  { chat, clock }: AnswerContext,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  if ('raw' in answer) response.end(answer.raw)
  else if ('drip' in answer) drip(response, clock)
  else {
    const pieces = 'hang' in answer ? answer.hang : answer.broken
    for (const delta of textDeltas(pieces)) response.write(frame(chunkOf(chat, delta, null)))
    if ('broken' in answer) setImmediate(() => response.destroy())
  }
}

function drip(response: ServerResponse, clock: Clock): void {
  let cancel = (): void => {}
  const next = (): void => {
    response.write(': wait\n\n')
    cancel = clock.after(5, next)
  }
  next()
  response.once('close', () => cancel())
}

function textDeltas(pieces: readonly string[]): object[] {
  return pieces.map((content) => ({ content }))
}

/** Calls as models send them: id and name first, then the arguments in pieces, calls interleaved. */
function callDeltas(calls: readonly ModelCall[]): object[] {
  const heads = calls.map((call, index) => ({
    tool_calls: [{ index, ...toolCall(call, index, '') }],
  }))
  const pieces = calls.map((call) => argumentsOf(call).match(/.{1,5}/gs) ?? [])
  const rounds = Math.max(0, ...pieces.map((list) => list.length))
  const bodies = Array.from({ length: rounds }, (_, round) =>
    pieces.flatMap((list, index) =>
      list[round] === undefined
        ? []
        : [{ tool_calls: [{ index, function: { arguments: list[round] } }] }],
    ),
  )
  return [...heads, ...bodies.flat()]
}

function toolCall({ id, name }: ModelCall, index: number, args: string): object {
  return { id: id ?? `call_${index}`, type: 'function', function: { name, arguments: args } }
}

function argumentsOf({ arguments: given }: ModelCall): string {
  return typeof given === 'string' ? given : JSON.stringify(given)
}

function chunkOf(chat: ModelRequest, delta: object, finish: string | null): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: chat.model,
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
}

function completion(chat: ModelRequest, message: object, finish = 'stop'): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: chat.model,
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    usage: scriptedUsage,
  }
}

function frame(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
