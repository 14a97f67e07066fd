import { OpenAIAgent } from 'corral/agents'
import { defineWorkflow, runTeam } from 'corral/team'
import { close, service } from './model.mjs'

const researcher = new OpenAIAgent({
  ...service,
  id: 'researcher',
  name: 'Researcher',
  systemPrompt: 'You collect what is known.',
})
const editor = new OpenAIAgent({
  ...service,
  id: 'editor',
  name: 'Editor',
  systemPrompt: 'You make it short.',
})
export const report = defineWorkflow({
  id: 'report',
  name: 'Report',
  agents: { researcher, editor },
  steps: (flow) =>
    flow
      .step('findings', { agentId: 'researcher' })
      .step('report', { agentId: 'editor', input: ({ steps }) => steps.findings.text }),
})

const run = await runTeam(report, 'bees')
console.log(run.text)
await close()
