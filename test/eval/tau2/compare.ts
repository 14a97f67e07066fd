import type {
  EnvAssertion,
  EvalTask,
  GoldAction,
  StateHash,
  ToolOutcome,
} from '../../../src/eval/domain/domain.ts'
import type { GoldenTask, Tau2Domain } from './vectors.ts'

/** What one golden task showed: how much was compared, and each difference in words. */
export interface Comparison {
  readonly outputs: number
  readonly differences: readonly string[]
  /** The most rows that a world copied, of how many. */
  readonly copies: { readonly rows: number; readonly total: number }
}

/**
 * Sets a task up and does its golden actions as tau2's evaluator does; everything is compared with the vectors. Their
 * golden hashes were taken after one sync at the end.
 */
export async function compareTask(domain: Tau2Domain, golden: GoldenTask): Promise<Comparison> {
  const task = domain.tasks.find(({ id }) => id === golden.task_id)
  if (!task) return { outputs: 0, differences: [`no task ${golden.task_id}`], copies }
  const world = await domain.open(task)
  const differences = [
    ...sameHash('initial hash', await world.hash(), golden.init),
    ...(await compareActions(task, golden, (action) => world.apply(action))),
  ]
  await world.sync()
  differences.push(
    ...sameHash('golden hash', await world.hash(), golden.gold),
    ...(await compareAssertions(task, golden, (assertion) => world.assert(assertion))),
  )
  return {
    outputs: golden.actions.length,
    differences: differences.map((text) => `${golden.task_id}: ${text}`),
    copies: world.copies(),
  }
}

const copies = { rows: 0, total: 0 }

type Apply = (action: GoldAction) => Promise<ToolOutcome>

async function compareActions(
  task: EvalTask,
  golden: GoldenTask,
  apply: Apply,
): Promise<readonly string[]> {
  const differences: string[] = []
  const actions = task.evaluation_criteria?.actions ?? []
  if (actions.length !== golden.actions.length) differences.push('another number of actions')
  for (const [index, action] of actions.entries()) {
    const { content, error } = await apply(action)
    const expected = golden.actions[index]
    if (expected?.content !== content || expected.ok === error)
      differences.push(`${action.name} gave ${content}, not ${expected?.content}`)
  }
  return differences
}

async function compareAssertions(
  task: EvalTask,
  golden: GoldenTask,
  assert: (assertion: EnvAssertion) => Promise<boolean>,
): Promise<readonly string[]> {
  const differences: string[] = []
  for (const [index, one] of (task.evaluation_criteria?.env_assertions ?? []).entries())
    if ((await assert(one)) !== golden.assertions[index])
      differences.push(`${one.func_name} is not ${golden.assertions[index]}`)
  return differences
}

function sameHash(
  what: string,
  { agent, user }: StateHash,
  [goldAgent, goldUser]: GoldenTask['init'],
): string[] {
  return [
    ...(agent === goldAgent ? [] : [`${what} of the agent's half`]),
    ...(user === goldUser ? [] : [`${what} of the user's half`]),
  ]
}
