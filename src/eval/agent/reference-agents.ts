import type { Agent } from '../../agents/agent.ts'
import { defineAgent } from '../../agents/function.ts'
import { dataPart } from '../../protocol/task.ts'
import type { Message, Part } from '../../protocol/types.ts'
import { checkArgument } from '../../shared/options.ts'
import type { Domain, EvalTask } from '../domain/domain.ts'
import {
  askForPart,
  type GoldenStep,
  goldenOpening,
  goldenSteps,
  waitingWords,
} from '../domain/replay.ts'

/** A task that the golden agent is at, and what is still to do. */
interface Solving {
  readonly task: EvalTask
  readonly steps: GoldenStep[]
}

const sorry = 'Sorry, I cannot help with that.'

/** How many conversations it keeps in mind; the oldest is forgotten where more are begun and not ended. */
const bound = 10_000

/**
 * Makes an agent that knows the solutions: it recognises a task by the user's first words, does its part step by step,
 * asks the user for theirs, and then tells what is to be told. A domain whose tasks are sound gives it the full score.
 */
export function createGoldenAgent(domain: Domain): Agent {
  checkArgument('createGoldenAgent', 'the domain', domain, 'object')
  checkArgument('createGoldenAgent', 'tasks of the domain', domain.tasks, 'array')
  const openings = new Map(domain.tasks.flatMap(openingsOf))
  const solving = new Map<string, Solving>()
  return defineAgent(
    { name: 'Golden agent', description: `Solves every task of the domain ${domain.name}` },
    (message, turn) => {
      const begun = openings.get(lastWords(message))
      const known = begun
        ? { task: begun, steps: [...goldenSteps(begun)] }
        : solving.get(turn.contextId)
      solving.delete(turn.contextId)
      if (!known) return turn.reply(sorry)
      const step = known.steps.shift()
      if (!step) return turn.reply(closing(known.task))
      solving.set(turn.contextId, known)
      const [oldest = ''] = solving.keys()
      if (solving.size > bound) solving.delete(oldest)
      return turn.reply(step.requestor === 'user' ? askForPart(step) : callsOf(step))
    },
  )
}

function openingsOf(task: EvalTask): readonly (readonly [string, EvalTask])[] {
  const openings = [goldenOpening(task), task.user_script?.opening, waitingWords(task)]
  return openings.flatMap((opening) => (opening === undefined ? [] : [[opening, task] as const]))
}

function lastWords(message: Message): string {
  return message.parts.flatMap((part) => ('text' in part ? [part.text] : [])).at(-1) ?? ''
}

function closing(task: EvalTask): string {
  const facts = task.evaluation_criteria?.communicate_info ?? []
  return facts.length > 0 ? `It has been done: ${facts.join(', ')}.` : 'It has been done.'
}

function callsOf({ actions }: GoldenStep): readonly Part[] {
  const calls = actions.map(({ name, arguments: args }) => ({
    tool_call: { name, arguments: args },
  }))
  return [dataPart({ tool_calls: calls })]
}

/** Makes an agent that is polite and does nothing. */
export function createIdleAgent(): Agent {
  return defineAgent(
    { name: 'Idle agent', description: 'Answers politely and does nothing' },
    (_, turn) => turn.reply(sorry),
  )
}
