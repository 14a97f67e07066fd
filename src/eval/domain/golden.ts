/**
 * How a golden user and a golden agent solve a task between them, over any wire. The user opens with the task's id. The
 * agent does its actions up to the first that is the user's, then asks for that part; the user does it and says so; and
 * on it goes to the last action, after which the agent tells every fact that is to be told. Whoever only listens, as the
 * idle agent does, asks for nothing, and the user hangs up.
 */
import { isToolCall, type Requestor } from './conversation.ts'
import { historyOf } from './history.ts'
import type { EvalTask, GoldAction } from './task.ts'

/** Golden actions in a row that are of one side. */
export interface GoldenStep {
  readonly requestor: Requestor
  readonly actions: readonly GoldAction[]
}

/** The golden actions of a task in their order, by turns of agent and user. */
export function goldenSteps(task: EvalTask): readonly GoldenStep[] {
  const steps: { requestor: Requestor; actions: GoldAction[] }[] = []
  for (const action of task.evaluation_criteria?.actions ?? []) {
    const { requestor = 'assistant' } = action
    const last = steps.at(-1)
    if (last?.requestor === requestor) last.actions.push(action)
    else steps.push({ requestor, actions: [action] })
  }
  return steps
}

/** The golden user's first words. */
export function goldenOpening({ id }: EvalTask): string {
  return `Please see to the task ${id}.`
}

/** What the user has just said where a task's history ends with it: then the agent is the first to speak. */
export function waitingWords(task: EvalTask): string | undefined {
  const last = historyOf(task).at(-1)
  return last?.role === 'user' && !isToolCall(last) ? (last.content ?? undefined) : undefined
}

const request = 'Please do this on your side:'

/** The golden agent's words to a user who has to act; they name the tools, so that a script can tell them apart. */
export function askForPart({ actions }: GoldenStep): string {
  const calls = actions.map(({ name, arguments: args }) => `${name}(${JSON.stringify(args)})`)
  return `${request} ${calls.join(', ')}`
}

/** Whether an agent's words ask the user to act. */
export function asksForPart(words: string | null): boolean {
  return words?.startsWith(request) ?? false
}
