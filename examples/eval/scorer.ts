/**
 * Measures an agent by a rule of one's own: its answers must be short.
 * Run: npx tsx examples/eval/scorer.ts
 */
// #region scorer
import { createGoldenAgent, kestrel, runEvaluation, type Scorer } from 'corral/eval'
import { createServer, listen } from 'corral/server'

const brief: Scorer = {
  name: 'BRIEF',
  score({ messages }) {
    const said = messages.filter(({ role }) => role === 'assistant')
    const checks = said.flatMap(({ content }) =>
      content ? [{ what: `brief: ${content.slice(0, 40)}`, met: content.length <= 200 }] : [],
    )
    const met = checks.filter((check) => check.met).length
    return { reward: checks.length > 0 ? met / checks.length : 1, checks }
  },
}

const listening = await listen(await createServer({ agents: [createGoldenAgent(kestrel)] }), {
  port: 0,
})
const { simulations } = await runEvaluation({
  agent: { endpoint: listening.url },
  domain: kestrel,
  scorers: [brief],
  numTasks: 3,
})
for (const { task_id, reward_info } of simulations)
  console.log(task_id, reward_info.reward, reward_info.reward_breakdown)
await listening.close()
// #endregion scorer
