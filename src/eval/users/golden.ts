import { isResults, type SpokenMessage, spoken } from '../domain/conversation.ts'
import {
  asksForPart,
  type GoldenStep,
  goldenOpening,
  goldenSteps,
  waitingWords,
} from '../domain/golden.ts'
import type { EvalTask } from '../domain/task.ts'
import type { User, UserSimulator } from './user.ts'

/**
 * Plays a user who does their part of the solution when asked to, and nothing else: for tests of a domain, without a
 * model.
 */
export const goldenUser: UserSimulator = {
  kind: 'golden',
  refuses: () => undefined,
  start: ({ task }) => createGolden(task),
}

function createGolden(task: EvalTask): User {
  const parts = goldenSteps(task).filter(({ requestor }) => requestor === 'user')
  let opened = waitingWords(task) !== undefined
  let done = 0
  return {
    async next(input) {
      if (!opened) {
        opened = true
        return spoken('user', goldenOpening(task))
      }
      if (isResults(input)) return spoken('user', 'I have done it. Please go on.')
      const part = asksForPart(input.content) ? parts[done++] : undefined
      return part ? doPart(part, done) : spoken('user', 'Thank you. ###STOP###')
    },
  }
}

function doPart({ actions }: GoldenStep, part: number): SpokenMessage {
  const calls = actions.map(({ name, arguments: args }, index) => ({
    id: `golden_${part}_${index + 1}`,
    name,
    arguments: args,
    requestor: 'user' as const,
  }))
  return spoken('user', null, calls)
}
