import { beforeAll, describe, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import type { EvalResults } from '../../../src/eval/results/results.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { createPlan } from '../../../src/eval/run/plan.ts'
import { loadTau2Domain } from '../../../src/eval/tau2/domain.ts'
import { goldenUser } from '../../../src/eval/users.ts'
import { dataPart } from '../../../src/protocol/task.ts'
import { serveAgent } from '../serving.ts'
import { runReference } from './oracle.ts'
import { dataDirectory, loadDomain, type Tau2Domain } from './vectors.ts'

/** Runs all tasks, or some. */
function run(
  domain: Tau2Domain,
  kind: 'golden' | 'idle',
  taskIds: readonly string[] = domain.tasks.map(({ id }) => id),
): Promise<EvalResults> {
  return runReference(domain, kind, taskIds)
}

/** The ids of the tasks that did not score 1. */
function failed({ simulations }: EvalResults): readonly string[] {
  return simulations.filter((one) => one.reward_info.reward !== 1).map((one) => one.task_id)
}

describe("tau2's mock over A2A", () => {
  const shipped = (): Promise<Tau2Domain> => loadTau2Domain('tau2:mock', { environment: {} })

  test('is solved by golden agent and user where its golden actions solve it', async () => {
    const results = await run(await shipped(), 'golden')
    expect(failed(results)).toEqual([
      'update_task_with_history_and_env_assertions',
      'update_task_with_user_tools',
    ])
    expect(results.info.user_info.implementation).toBe('golden')
    expect(results.info.environment_info.manifest).toMatchObject({
      'tau2/domains/mock/db.json': expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  test('gives an agent that does nothing one task', async () => {
    const { summary } = await run(await shipped(), 'idle')
    expect(summary).toMatchObject({ successes: 1, do_nothing: { successes: 1, tasks: 10 } })
  })

  test('executes what tau2 executes, whatever the schema says', async () => {
    const args = { user_id: 'user_1', title: 'Important Meeting', description: null }
    const agent = defineAgent({ name: 'Null' }, (message, turn) =>
      message.parts.length > 2
        ? turn.reply([dataPart({ tool_call: { name: 'create_task', arguments: args } })])
        : turn.reply('Done.'),
    )
    const { simulations } = await runEvaluation({
      agent: { endpoint: await serveAgent(agent) },
      domain: await shipped(),
      user: goldenUser,
      taskIds: ['create_task_1'],
    })
    expect(simulations[0]?.messages[3]).toMatchObject({ role: 'tool', error: false })
    expect(simulations[0]?.reward_info.reward).toBe(1)
  })
})

/** Of the others the fast part: a sample of tasks; `npm run tau2` runs all. */
const samples = { airline: 10, retail: 12, telecom: 150 } as const

describe.skipIf(!dataDirectory).each(Object.entries(samples))(
  "tau2's %s over A2A",
  (name, step) => {
    let domain: Tau2Domain
    beforeAll(async () => {
      domain = await loadDomain(name)
    })

    test('is solved by golden agent and user, turn by turn', async () => {
      const ids = domain.tasks.map(({ id }) => id).filter((_, index) => index % step === 0)
      expect(failed(await run(domain, 'golden', ids))).toEqual([])
    })

    test('gives an agent that does nothing exactly the baseline', async () => {
      const ids = domain.tasks.map(({ id }) => id).filter((_, index) => index % (step * 2) === 0)
      const { simulations, baseline } = await run(domain, 'idle', ids)
      expect(
        simulations.map(({ task_id, reward_info: { reward } }) => ({ task_id, reward })),
      ).toEqual(baseline)
    })

    test('runs its base split where nobody chooses', () => {
      const plan = createPlan({ agent: { endpoint: 'http://localhost' }, domain, user: goldenUser })
      expect(plan.tasks.length).toBe({ airline: 50, retail: 114, telecom: 114 }[name])
    })
  },
)
