import type { AuthContext, Call, Dispatch, EventStream } from '../../protocol/call.ts'
import { A2AError, toA2AError } from '../../protocol/errors.ts'
import { estimateUsage, type Usage } from '../../protocol/usage.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { newId } from '../../shared/ids.ts'
import { ask, readAll } from '../ask.ts'
import { parseBody, toCall } from '../call.ts'
import { createEventBody } from '../event-body.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../http.ts'
import type { OpenAIRoute, RouteHandlers } from '../routes.ts'
import { streamHeaders } from '../sse.ts'
import { type CompletionHead, placeOf, toCompletion, toOpenAIUsage } from './completion.ts'
import { errorReply } from './errors.ts'
import type { CompletionForm } from './form.ts'
import { askInFormat } from './format.ts'
import { findWaiting, promptText, toMessage } from './message.ts'
import { type ChatInput, parseChat, parseCompletion } from './request.ts'
import { cutAt } from './stop.ts'
import { createTextReader, type TextReader } from './text.ts'
import { toClientTools } from './tools.ts'
import { createChunkWriter } from './writer.ts'

/** What the OpenAI endpoints need. */
interface OpenAIBindingOptions {
  /** The operations of the agent or team that a model's name stands for. */
  readonly dispatchOf: (model: string) => Dispatch | undefined
  /** The models there are; the first answers where a request names none. */
  readonly models: () => readonly OpenAIModel[]
  /** Who asks for the models; anyone if absent. @throws A2AError `unauthenticated`. */
  readonly identify?: (call: Call) => AuthContext | Promise<AuthContext>
  /** How long a stream may be quiet before a comment keeps it open; 15 000 if absent, 0 for never. */
  readonly heartbeatMs?: number
  readonly clock?: Clock
}

/** An agent or team as a model. */
export interface OpenAIModel {
  readonly id: string
  /** Seconds since the epoch; 0 if absent. */
  readonly created?: number
  /** "corral" if absent. */
  readonly ownedBy?: string
  /** Whether the agent reads the history extension; else earlier messages are put before the question as text. */
  readonly readsHistory?: boolean
  /** Whether the agent takes tools that its client runs; else they are ignored. */
  readonly takesTools?: boolean
}

/** A request on its way to an agent. */
interface Asked {
  readonly model: string
  readonly prompt: string
  readonly stream: EventStream
}

const json: Readonly<Record<string, string>> = { 'content-type': 'application/json' }

/**
 * Answers as OpenAI's API does, one handler for each of its routes: `completions`, streamed or not, the `models` and one
 * `model` of them; and `chat`, a plainer way to say the same. Each agent or team is a model.
 */
export function createOpenAIBinding(options: OpenAIBindingOptions): RouteHandlers<OpenAIRoute> {
  const { dispatchOf, models, identify, heartbeatMs = 15_000, clock = systemClock } = options

  async function complete(request: HttpRequest): Promise<HttpReply> {
    const { input, form } = parseCompletion(parseBody(request))
    const asked = await send(request, input, form)
    const head = headOf(asked.model)
    const { includeUsage, stop } = form
    if (!form.stream) {
      const reader = await read(asked, request)
      const text = cutAt(stop, reader.text)
      return ok(toCompletion(head, { reader, text, usage: usageOf(asked, reader) }))
    }
    const usage = (reader: TextReader): Usage => usageOf(asked, reader)
    const writer = createChunkWriter({ head, includeUsage, stop, usage })
    const body = createEventBody(asked.stream, { writer, heartbeatMs, clock })
    await body.opened()
    return { status: 200, headers: streamHeaders, body }
  }

  async function chat(request: HttpRequest): Promise<HttpReply> {
    const { input, id } = parseChat(parseBody(request))
    const asked = await send(request, input)
    const reader = await read(asked, request)
    const usage = toOpenAIUsage(usageOf(asked, reader))
    return ok({
      id: id ?? newId(),
      response: { content: reader.text, role: 'assistant', finish_reason: 'stop', usage },
      metadata: { model: asked.model, ...placeOf(reader) },
    })
  }

  async function send(
    request: HttpRequest,
    input: ChatInput,
    form?: CompletionForm,
  ): Promise<Asked> {
    const model = modelOf(input.model)
    const dispatch = dispatchOf(model.id)
    if (!dispatch) throw noModel(model.id)
    const call = toCall(request, '1.0')
    // It looks for a task that waits, to answer it: that is part of sending.
    call.scope = 'tasks:write'
    const tools = model.takesTools ? toClientTools(form?.tools ?? []) : undefined
    const question = await withWaiting(dispatch, input, call)
    const stream = form?.format
      ? await askInFormat(question, {
          format: form.format,
          stop: form.stop,
          put: (one) => ask(dispatch, { message: toMessage(one, model, tools) }, call),
        })
      : await ask(dispatch, { message: toMessage(question, model, tools) }, call)
    return { model: model.id, prompt: promptText(input), stream }
  }

  function modelOf(name: string | undefined): OpenAIModel {
    const known = models()
    const model = name === undefined ? known[0] : known.find(({ id }) => id === name)
    if (!model) throw noModel(name ?? '')
    return model
  }

  function headOf(model: string): CompletionHead {
    const created = Math.floor(clock.now() / 1000)
    return { id: `chatcmpl-${newId()}`, created, model }
  }

  return {
    completions: guarded(complete),
    chat: guarded(chat),
    models: guarded(async (request) => {
      await identify?.(request)
      return ok({ object: 'list', data: models().map(toModel) })
    }),
    model: guarded(async (request) => {
      await identify?.(request)
      return ok(toModel(modelOf(nameIn(request.path))))
    }),
  }
}

/** A fault is an answer too, as OpenAI's clients expect it. */
function guarded(answer: HttpHandler): HttpHandler {
  return async (request) => {
    try {
      return await answer(request)
    } catch (thrown) {
      return errorReply(toA2AError(thrown))
    }
  }
}

/** A message in a named conversation answers the task that waits there, if one does. */
async function withWaiting(dispatch: Dispatch, input: ChatInput, call: Call): Promise<ChatInput> {
  if (input.contextId === undefined || input.taskId !== undefined) return input
  const taskId = await findWaiting(dispatch, input.contextId, call)
  return taskId === undefined ? input : { ...input, taskId }
}

async function read(asked: Asked, request: HttpRequest): Promise<TextReader> {
  const reader = createTextReader()
  await readAll(asked.stream, request.signal, (event) => void reader.take(event))
  const fault = reader.fault()
  if (fault) throw fault
  return reader
}

function usageOf(asked: Asked, reader: TextReader): Usage {
  return reader.usage ?? estimateUsage(asked.prompt, reader.text)
}

/** The model that `/v1/models/{name}` names. */
function nameIn(path: string): string {
  const name = path.split('/').slice(3).join('/')
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

function toModel({ id, created = 0, ownedBy = 'corral' }: OpenAIModel): object {
  return { id, object: 'model', created, owned_by: ownedBy }
}

function noModel(model: string): A2AError {
  return new A2AError('methodNotFound', `The model '${model}' does not exist`, {
    violations: [{ field: 'model', description: 'does not exist' }],
    metadata: { openai: 'model_not_found' },
  })
}

function ok(body: object): HttpReply {
  return { status: 200, headers: json, body: JSON.stringify(body) }
}
