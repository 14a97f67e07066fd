import { textOf } from 'corral'
import { defineWorkflow, runTeam } from 'corral/team'

export const press = defineWorkflow({
  id: 'press',
  name: 'Press',
  agents: {
    writer: ({ parts }) => `NEWS: ${textOf(parts)}`,
    publisher: ({ parts }) => `Published. ${textOf(parts)}`,
  },
  steps: (flow) =>
    flow
      .step('draft', { agentId: 'writer' })
      .approval({ question: 'Publish?' })
      .step('publish', { agentId: 'publisher' }),
})

const run = await runTeam(press, 'The bridge is open', { answers: ['yes'] })
console.log(run.questions[0])
console.log(run.text)
