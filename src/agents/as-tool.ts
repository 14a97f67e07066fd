import { userMessage } from '../protocol/build.ts'
import { answerParts, isTerminal, textOf } from '../protocol/task.ts'
import type { Part, Task } from '../protocol/types.ts'
import { digestOf } from '../shared/ids.ts'
import type { Agent } from './agent.ts'
import { AsideTurn } from './aside.ts'
import { collectTask } from './reply.ts'
import { type Tool, toToolName } from './tools.ts'

/** How an agent shows itself as a tool; its own name and words if absent. */
export interface AsToolOptions {
  /** What the model calls it by. */
  readonly name?: string
  /** What the model is told of it. */
  readonly description?: string
}

/**
 * Makes a tool for a model of an agent: the model asks it in words and gets its answer as text. The agent works within
 * the model's turn and is cancelled with it.
 */
export async function asTool(agent: Agent, options: AsToolOptions = {}): Promise<Tool> {
  const info = await agent.info()
  const name = toToolName(options.name ?? info.id)
  return {
    name,
    description: options.description ?? info.description,
    parameters: {
      type: 'object',
      properties: { message: { type: 'string', description: `What to ask ${info.name}` } },
      required: ['message'],
    },
    async execute({ message: text }, { turn, signal }) {
      if (typeof text !== 'string' || text === '') throw new Error('message must be a text')
      const space = `${name}:${text}`
      // The same when the turn runs again after a crash, so that a remote agent is not sent it twice.
      const messageId = await digestOf([turn.taskId, turn.number, space])
      const message = { ...userMessage(text, { contextId: turn.contextId }), messageId }
      const inner = new AsideTurn(turn, { space, message, signal })
      return toText(await collectTask(agent.process(message, inner), inner))
    },
  }
}

/** The answer or the question as text; a failure is thrown, for the model to hear of. */
function toText(task: Task): string {
  const { state, message } = task.status
  const words = message ? textOf(message.parts) : ''
  if (isTerminal(state) && state !== 'TASK_STATE_COMPLETED')
    throw new Error(words || 'The agent could not answer')
  if (state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED')
    return words || 'The agent needs more information'
  return answerParts(task).map(partText).join('')
}

function partText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return JSON.stringify(part.data)
  return `[${part.filename ?? part.mediaType ?? 'file'}]`
}
