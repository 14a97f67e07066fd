import { userMessage } from '../protocol/build.ts'
import { answerParts, isTerminal, textOf } from '../protocol/task.ts'
import type { Message, Part, Task } from '../protocol/types.ts'
import type { Agent, Turn } from './agent.ts'
import { collect } from './collect.ts'
import { digestOf } from './digest.ts'
import { type Tool, toToolName } from './tools.ts'

/** How an agent shows itself as a tool; its own name and words if absent. */
export interface AsToolOptions {
  readonly name?: string
  readonly description?: string
}

/**
 * An agent as a tool for a model: the model asks it in words and gets its answer as text. The agent works within the
 * model's turn: cancelled with it, its steps and state in the same log.
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
      const inner = innerTurn(turn, { space, message, signal })
      return toText(await collect(agent.process(message, inner), inner))
    },
  }
}

/** The caller's task seen from the tool: it knows its own question only, and keeps its state apart. */
function innerTurn(
  outer: Turn,
  own: { readonly space: string; readonly message: Message; readonly signal: AbortSignal },
): Turn {
  const { space, message, signal } = own
  return {
    taskId: outer.taskId,
    contextId: outer.contextId,
    message,
    task: undefined,
    history: [],
    caller: outer.caller,
    tenant: outer.tenant,
    signal,
    log: outer.log,
    extensions: [],
    acceptedOutputModes: [],
    metadata: undefined,
    number: outer.number,
    attempt: outer.attempt,
    traceparent: outer.traceparent,
    hops: outer.hops,
    status: (state, text) => outer.status(state, text),
    artifact: (artifact, chunk) => outer.artifact(artifact, chunk),
    ask: (text) => outer.ask(text),
    reply: (content) => outer.reply(content),
    step: (name, work) => outer.step(`${space}/${name}`, work),
    load: (key) => outer.load(`${space}/${key}`),
    save: (key, value) => outer.save(`${space}/${key}`, value),
    context: outer.context,
    away: () => outer.away(),
    trace: (entry) => outer.trace(entry),
    conversation: async () => [],
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
