import type { CallToolResult, ContentBlock, ServerContext } from '@modelcontextprotocol/server'
import { userMessage } from '../../protocol/build.ts'
import type { Call, Dispatch } from '../../protocol/call.ts'
import { toA2AError } from '../../protocol/errors.ts'
import { createFold, type Fold } from '../../protocol/fold.ts'
import { answerParts, isTerminal, textOf } from '../../protocol/task.ts'
import type { Message, Part, StreamResponse, Task } from '../../protocol/types.ts'
import { ask, readAll } from '../ask.ts'

/** An agent or team offered as an MCP tool. */
export interface McpOffer {
  /** Becomes the tool's name. */
  readonly id: string
  readonly name: string
  readonly description: string
  readonly dispatch: Dispatch
}

/** What a caller says to an offered agent. */
export interface McpQuestion {
  readonly message: string
  /** An earlier result's, to go on with that conversation. */
  readonly context_id?: string
  /** An earlier result's, to answer what it asked. */
  readonly task_id?: string
}

/** The JSON Schema of a question. */
export const questionSchema = {
  type: 'object',
  properties: {
    message: { type: 'string', minLength: 1, description: 'What to ask or tell the agent' },
    context_id: {
      type: 'string',
      description: 'context_id of an earlier result, to go on with it',
    },
    task_id: { type: 'string', description: 'task_id of a result that asked something' },
  },
  required: ['message'],
} as const

/** The JSON Schema of a result's structured content. */
export const resultSchema = {
  type: 'object',
  properties: {
    state: { type: 'string' },
    context_id: { type: 'string' },
    task_id: { type: 'string' },
  },
  required: ['state'],
} as const

/** Asks an offered agent and gives its answer as a tool's result. Whatever goes wrong is told in the result. */
export async function answerQuestion(
  offer: McpOffer,
  question: McpQuestion,
  context: { readonly call: Call; readonly mcp: ServerContext },
): Promise<CallToolResult> {
  const { context_id: contextId, task_id: taskId } = question
  const message = userMessage(question.message, {
    ...(contextId && { contextId }),
    ...(taskId && { taskId }),
  })
  const collector = createCollector()
  const { signal } = context.mcp.mcpReq
  try {
    const stream = await ask(offer.dispatch, { message }, { ...context.call, signal })
    await readAll(stream, signal, (event) => {
      collector.take(event)
      reportProgress(context.mcp, event)
    })
    return collector.result()
  } catch (thrown) {
    signal.throwIfAborted()
    return { content: [{ type: 'text', text: toA2AError(thrown).message }], isError: true }
  }
}

function createCollector(): { take(event: StreamResponse): void; result(): CallToolResult } {
  let fold: Fold | undefined
  let lone: Message | undefined
  return {
    take(event) {
      if ('message' in event) lone = event.message
      else if ('task' in event) fold = createFold(event.task)
      else {
        fold ??= createFold(taskOf(event))
        fold.apply(event)
      }
    },
    result() {
      if (lone) return fromMessage(lone)
      fold?.compact()
      return fold ? fromTask(fold.snapshot()) : { content: [] }
    },
  }
}

function taskOf(event: Exclude<StreamResponse, { task: Task } | { message: Message }>): Task {
  const update = 'statusUpdate' in event ? event.statusUpdate : event.artifactUpdate
  const { taskId: id, contextId } = update
  return { id, contextId, status: { state: 'TASK_STATE_WORKING' } }
}

function fromMessage(message: Message): CallToolResult {
  const { contextId } = message
  return {
    content: message.parts.map(toBlock),
    structuredContent: {
      state: 'TASK_STATE_COMPLETED',
      ...(contextId !== undefined && { context_id: contextId }),
    },
  }
}

function fromTask(task: Task): CallToolResult {
  const { state, message } = task.status
  const question = !isTerminal(state) && message ? message.parts : []
  return {
    content: [...(question.length > 0 ? question : answerParts(task))].map(toBlock),
    structuredContent: { state, context_id: task.contextId, task_id: task.id },
    ...(isTerminal(state) && state !== 'TASK_STATE_COMPLETED' && { isError: true }),
  }
}

function toBlock(part: Part): ContentBlock {
  if ('text' in part) return { type: 'text', text: part.text }
  if ('data' in part) return { type: 'text', text: JSON.stringify(part.data) }
  const mimeType = part.mediaType ?? 'application/octet-stream'
  const name = part.filename ?? 'file'
  if ('url' in part) return { type: 'resource_link', uri: part.url, name, mimeType }
  if (mimeType.startsWith('image/')) return { type: 'image', data: part.raw, mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data: part.raw, mimeType }
  const uri = `attachment:///${encodeURIComponent(name)}`
  return { type: 'resource', resource: { uri, mimeType, blob: part.raw } }
}

/** Tells a client that asked for progress what the agent says on the way. */
function reportProgress({ mcpReq }: ServerContext, event: StreamResponse): void {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined || !('statusUpdate' in event)) return
  const { state, message } = event.statusUpdate.status
  if (state !== 'TASK_STATE_WORKING' || !message) return
  const params = { progressToken, progress: 0, message: textOf(message.parts) }
  // A client that has gone does not hear of progress; its signal ends the work.
  void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
}
