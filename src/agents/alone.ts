import { newMessage } from '../protocol/build.ts'
import { anonymous } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { answerParts, isInterrupted, isTerminal, textOf } from '../protocol/task.ts'
import type { Json, Message, Task } from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import { silent } from '../shared/log.ts'
import type { Agent, Turn } from './agent.ts'
import { collectTask } from './reply.ts'

/**
 * Asks an agent in this program, without a server: its answer as one message, or its question to the user.
 * Nothing is stored, and nobody else sees the task.
 *
 * @throws what the agent throws, and A2AError `processingError` where it fails, rejects or cancels its task.
 */
export async function askAlone(agent: Agent, message: Message): Promise<Message> {
  const turn = createLoneTurn(message)
  return answerOf(await collectTask(agent.process(turn.message, turn), turn))
}

function answerOf(task: Task): Message {
  const { state, message } = task.status
  if (isTerminal(state) && state !== 'TASK_STATE_COMPLETED')
    throw new A2AError(
      'processingError',
      textOf(message?.parts ?? []) || 'The agent could not answer',
    )
  const parts = isInterrupted(state) ? (message?.parts ?? []) : answerParts(task)
  return newMessage('ROLE_AGENT', parts, { contextId: task.contextId })
}

/** A turn of nobody's server: what the agent saves lasts as long as the turn. */
function createLoneTurn(given: Message): Turn {
  const ids = { taskId: newId(), contextId: given.contextId ?? newId() }
  const saved = new Map<string, Json>()
  const values = new Map<string, Json>()
  const steps = new Map<string, Promise<Json>>()
  const reply: Turn['reply'] = (content) => newMessage('ROLE_AGENT', content, ids)
  const status: Turn['status'] = (state, text) => ({
    statusUpdate: { status: { state, ...(text !== undefined && { message: reply(text) }) } },
  })
  return {
    ...ids,
    message: { ...given, ...ids },
    task: undefined,
    history: [],
    caller: anonymous,
    tenant: '',
    signal: new AbortController().signal,
    log: silent,
    extensions: [],
    acceptedOutputModes: [],
    metadata: undefined,
    number: 1,
    attempt: 1,
    traceparent: undefined,
    hops: [],
    status,
    artifact: (artifact, options = {}) => ({ artifactUpdate: { artifact, ...options } }),
    ask: (text) => status('TASK_STATE_INPUT_REQUIRED', text),
    reply,
    step<T extends Json>(name: string, work: () => Promise<T> | T): Promise<T> {
      const known = steps.get(name) ?? Promise.resolve().then(work)
      steps.set(name, known)
      return known as Promise<T> // of the same name, so of the same work
    },
    stepKey: (name) => `${ids.taskId}/1/${name}`,
    load: (key) => saved.get(key),
    save: async (key, value) => void saved.set(key, value),
    context: {
      get: async (key) => values.get(key),
      set: (key, value) => void values.set(key, value),
    },
    away: () => async () => {},
    trace: () => {},
    conversation: async () => [],
  }
}
