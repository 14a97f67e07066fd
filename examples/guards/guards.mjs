import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { defineTeam, runTeam } from 'corral/team'

const onTopic = ({ text }) =>
  text.includes('weather') ? { verdict: 'allow' } : { verdict: 'block', reason: 'it is off topic' }

const reporter = defineAgent(
  {
    name: 'Reporter',
    guards: { output: ['email', { use: 'length', max: 200, action: 'replace' }] },
  },
  ({ parts }) => `${textOf(parts)}: sunny. Yours, joe@example.com`,
)
const judge = defineAgent({ name: 'Judge' }, ({ parts }) =>
  textOf(parts).includes('storm') ? 'block: nobody wants to hear of storms' : 'allow',
)
const team = defineTeam({
  id: 'news',
  name: 'News',
  agents: { reporter, judge },
  scheduler: {
    type: 'workflow',
    steps: [{ agentId: 'reporter', guards: { output: [{ member: 'judge' }] } }],
  },
  guards: { input: [onTopic] },
})

for (const question of ['The weather', 'The weather and the storm', 'The news']) {
  const { state, text } = await runTeam(team, question, { logger: false })
  console.log(`${state}: ${text}`)
}
