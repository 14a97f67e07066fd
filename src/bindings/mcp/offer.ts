import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { userMessage } from '../../protocol/build.ts'
import type { Call, Dispatch } from '../../protocol/call.ts'
import { toA2AError } from '../../protocol/errors.ts'
import { textOf } from '../../protocol/task.ts'
import type { JsonObject, StreamResponse } from '../../protocol/types.ts'
import { ask, readAll } from '../ask.ts'
import { createResultReader, failure } from './result.ts'

/** An agent or team offered as an MCP tool. */
export interface McpOffer {
  /** Becomes the tool's name. */
  readonly id: string
  readonly name: string
  readonly description: string
  /** The JSON Schema of its answers, where they are data. */
  readonly outputSchema?: JsonObject | undefined
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
  const reader = createResultReader()
  const { signal } = context.mcp.mcpReq
  try {
    const stream = await ask(offer.dispatch, { message }, { ...context.call, signal })
    await readAll(stream, signal, (event) => {
      reader.take(event)
      reportProgress(context.mcp, event)
    })
    return reader.result()
  } catch (thrown) {
    signal.throwIfAborted()
    return failure(toA2AError(thrown).message)
  }
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
