import { createGoldenAgent, createIdleAgent } from '../../../src/eval/agent/reference-agents.ts'
import type { Domain } from '../../../src/eval/domain/domain.ts'
import type { EvalResults } from '../../../src/eval/results/results.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { agreeingJudge } from '../../../src/eval/scorers/built-in.ts'
import { goldenUser } from '../../../src/eval/users.ts'
import { createServer, listen } from '../../../src/server/index.ts'

/** What the golden actions must pass and what doing nothing passes, by what tau2's own Python gave. */
export const expected: Readonly<
  Record<string, { readonly golden: number; readonly idle: number }>
> = {
  mock: { golden: 8, idle: 1 },
  airline: { golden: 50, idle: 23 },
  retail: { golden: 114, idle: 6 },
  telecom: { golden: 2285, idle: 0 },
}

/** Runs tasks over real A2A with the golden user, against the golden agent or one that does nothing. */
export async function runReference(
  domain: Domain,
  kind: 'golden' | 'idle',
  taskIds: readonly string[],
): Promise<EvalResults> {
  const agent = kind === 'golden' ? createGoldenAgent(domain) : createIdleAgent()
  const server = await createServer({ agents: [agent], logger: false })
  const { url, close } = await listen(server, { port: 0, host: '127.0.0.1' })
  try {
    return await runEvaluation({
      agent: { endpoint: url },
      domain,
      user: goldenUser,
      taskIds,
      maxConcurrency: 8,
      ...(kind === 'golden' && { judge: agreeingJudge }),
    })
  } finally {
    await close()
  }
}
