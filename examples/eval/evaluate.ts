/**
 * Measures an agent on the built-in kestrel domain, and again after a change that makes it worse.
 * Run: npx tsx examples/eval/evaluate.ts
 */
// #region run
import {
  checkGate,
  compareResults,
  createGoldenAgent,
  createIdleAgent,
  type EvalResults,
  kestrel,
  runEvaluation,
} from 'corral/eval'
import { serve } from 'corral/server'

async function measure(agent: ReturnType<typeof createIdleAgent>): Promise<EvalResults> {
  const listening = await serve(agent, { port: 0, signals: false })
  try {
    return await runEvaluation({
      agent: { endpoint: listening.url },
      domain: kestrel,
      numTrials: 2,
    })
  } finally {
    await listening.close()
  }
}

const before = await measure(createGoldenAgent(kestrel))
const after = await measure(createIdleAgent())
console.log(before.summary.pass_hat_k, after.summary.do_nothing)
console.log(compareResults(before, after).difference)
console.log(checkGate(after, { failUnder: 0.5 }, before).reasons)
// #endregion run
