import { messageOf } from '../base/errors.ts'
import type { Environment } from '../domain/environment.ts'
import type { EnvAssertion } from '../domain/task.ts'
import { defineBuiltIn } from './define.ts'
import type { BuiltInScorer, RewardChecks } from './scorer.ts'

/** Whether each assertion holds in the world that the conversation left. One that throws is not met, and says so. */
export const assertionsScorer: BuiltInScorer = defineBuiltIn({
  name: 'ENV_ASSERTION',
  async find({ task, world }) {
    const checks: AssertionCheck[] = []
    for (const assertion of task.evaluation_criteria?.env_assertions ?? [])
      checks.push(await check(assertion, world))
    return { env_assertions: checks }
  },
  reasons: ({ env_assertions }) =>
    env_assertions?.map(({ env_assertion, met, note }) => ({
      what: env_assertion.func_name,
      met,
      ...(note !== undefined && { why: note }),
    })),
})

type AssertionCheck = NonNullable<RewardChecks['env_assertions']>[number]

async function check(env_assertion: EnvAssertion, world: Environment): Promise<AssertionCheck> {
  try {
    return { env_assertion, met: await world.assert(env_assertion) }
  } catch (error) {
    return { env_assertion, met: false, note: messageOf(error) }
  }
}
