import { messageOf } from '../base/errors.ts'
import type { Environment } from '../domain/environment.ts'
import type { EnvAssertion } from '../domain/task.ts'
import type { RewardInfo } from '../results/simulation.ts'

/** Whether each assertion holds in the world that the conversation left. One that throws is not met, and says so. */
export async function checkAssertions(
  assertions: readonly EnvAssertion[],
  predicted: Environment,
): Promise<NonNullable<RewardInfo['env_assertions']>> {
  const checks = []
  for (const env_assertion of assertions) {
    try {
      checks.push({ env_assertion, met: await predicted.assert(env_assertion) })
    } catch (error) {
      checks.push({ env_assertion, met: false, note: messageOf(error) })
    }
  }
  return checks
}
