import { loadDomain, runEvaluation } from 'corral/eval'

/** Every sentence that the agent says has 40 characters at most. */
const brief = {
  name: 'BRIEF',
  score({ messages }) {
    const said = messages.filter(({ role, content }) => role === 'assistant' && content)
    const checks = said.map(({ content }) => ({ what: content, met: content.length <= 40 }))
    const met = checks.filter((check) => check.met).length
    return { reward: checks.length > 0 ? met / checks.length : 1, checks }
  },
}

const { simulations } = await runEvaluation({
  agent: { endpoint: process.env.AGENT_URL ?? 'http://127.0.0.1:3000' },
  domain: await loadDomain(process.env.DOMAIN ?? './desk'),
  scorers: [brief],
})
for (const { task_id, reward_info } of simulations)
  console.log(task_id, reward_info.reward, reward_info.reward_breakdown)
