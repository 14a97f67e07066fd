import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'
import { createFold, type Fold } from '../../protocol/fold.ts'
import { answerParts, isInterrupted, isTerminal, textOf } from '../../protocol/task.ts'
import type { Json, JsonObject, Message, Part, StreamResponse, Task } from '../../protocol/types.ts'

const resultSchema = {
  type: 'object',
  properties: {
    answer: {
      type: 'string',
      description: 'What the agent says; its question where the state is TASK_STATE_INPUT_REQUIRED',
    },
    data: { type: 'array', description: 'The structured data of the answer, if it has any' },
    state: { type: 'string', description: 'The state of the task, such as TASK_STATE_COMPLETED' },
    context_id: { type: 'string', description: 'Names the conversation, to go on with it' },
    task_id: { type: 'string', description: 'Names the task, to answer what it asked' },
  },
  required: ['answer', 'state'],
} as const

/** The JSON Schema of a result's structured content, with that of the agent's data where it is known. */
export function toResultSchema(data: JsonObject | undefined): JsonObject {
  // What a schema refers to within itself would not be found where it stands within another.
  if (!data || JSON.stringify(data).includes('"$ref"')) return resultSchema
  const { $schema: _, ...items } = data
  const { properties } = resultSchema
  return {
    ...resultSchema,
    properties: { ...properties, data: { ...properties.data, items } },
  }
}

/** Gathers an agent's events into one result. */
interface ResultReader {
  take(event: StreamResponse): void
  result(): CallToolResult
}

/** An empty reader. */
export function createResultReader(): ResultReader {
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
      return fold ? fromTask(fold.snapshot()) : failure('The agent has not answered')
    },
  }
}

/** A result that says what went wrong. */
export function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

function taskOf(event: Exclude<StreamResponse, { task: Task } | { message: Message }>): Task {
  const update = 'statusUpdate' in event ? event.statusUpdate : event.artifactUpdate
  const { taskId: id, contextId } = update
  return { id, contextId, status: { state: 'TASK_STATE_WORKING' } }
}

function fromMessage({ parts, contextId }: Message): CallToolResult {
  return {
    content: parts.map(toBlock),
    structuredContent: {
      ...toAnswer(parts),
      state: 'TASK_STATE_COMPLETED',
      ...(contextId !== undefined && { context_id: contextId }),
    },
  }
}

function fromTask(task: Task): CallToolResult {
  const { state } = task.status
  const parts = saidIn(task)
  return {
    content: [...parts.map(toBlock), ...(isInterrupted(state) ? [howToAnswer(task)] : [])],
    structuredContent: {
      ...toAnswer(parts),
      state,
      context_id: task.contextId,
      task_id: task.id,
    },
    ...(isTerminal(state) && state !== 'TASK_STATE_COMPLETED' && { isError: true }),
  }
}

/** A completed task says its answer; any other its last words: the question, or why it ended. */
function saidIn(task: Task): readonly Part[] {
  const { state, message } = task.status
  const isAnswer = state === 'TASK_STATE_COMPLETED' || !message?.parts.length
  return isAnswer ? answerParts(task) : message.parts
}

/** Many clients show a model nothing but the content, so the ids stand there too. */
function howToAnswer({ id, contextId }: Task): ContentBlock {
  const ids = `task_id ${JSON.stringify(id)} and context_id ${JSON.stringify(contextId)}`
  return { type: 'text', text: `To answer, call this tool again with ${ids}.` }
}

function toAnswer(parts: readonly Part[]): { answer: string; data?: readonly Json[] } {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  return { answer: textOf(parts), ...(data.length > 0 && { data }) }
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
