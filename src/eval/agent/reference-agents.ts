import type { Agent } from '../../agents/agent.ts'
import { defineAgent } from '../../agents/function.ts'
import { dataPart } from '../../protocol/build.ts'
import type { Message, Part } from '../../protocol/types.ts'
import type { Domain } from '../domain/environment.ts'
import type { EvalTask } from '../domain/task.ts'

/**
 * An agent that knows the golden actions: it recognises a task by the scripted user's opening words, does what is to
 * be done in one answer, and then tells what is to be told. A domain whose tasks are sound gives it the full score.
 */
export function createGoldenAgent(domain: Domain): Agent {
  const tasks = new Map<string, EvalTask>()
  const find = (message: Message): EvalTask | undefined => {
    const words = message.parts.flatMap((part) => ('text' in part ? [part.text] : []))
    return domain.tasks.find((task) => words.at(-1) === task.user_script?.opening)
  }
  return defineAgent(
    { name: 'Golden agent', description: `Solves every task of the domain ${domain.name}` },
    (message, turn) => {
      const task = find(message)
      if (!task) {
        const known = tasks.get(turn.contextId)
        tasks.delete(turn.contextId)
        return turn.reply(known ? closing(known) : 'Sorry, I cannot help with that.')
      }
      const calls = callsOf(task)
      if (calls.length === 0) return turn.reply(closing(task))
      tasks.set(turn.contextId, task)
      return turn.reply(calls)
    },
  )
}

/** An agent that is polite and does nothing. */
export function createIdleAgent(): Agent {
  return defineAgent(
    { name: 'Idle agent', description: 'Answers politely and does nothing' },
    (_, turn) => turn.reply('Sorry, I cannot help with that.'),
  )
}

function callsOf(task: EvalTask): readonly Part[] {
  const actions = task.evaluation_criteria?.actions ?? []
  const calls = actions
    .filter(({ requestor = 'assistant' }) => requestor === 'assistant')
    .map(({ name, arguments: args }) => ({ tool_call: { name, arguments: args } }))
  return calls.length > 0 ? [dataPart({ tool_calls: calls })] : []
}

function closing(task: EvalTask): string {
  const facts = task.evaluation_criteria?.communicate_info ?? []
  return facts.length > 0 ? `It has been done: ${facts.join(', ')}.` : 'It has been seen to.'
}
