import { textOf } from 'corral'
import { defineWorkflow, runTeam } from 'corral/team'

export const essay = defineWorkflow({
  id: 'essay',
  name: 'Essay',
  agents: {
    write: ({ parts }) => `${textOf(parts)}!`,
    print: ({ parts }) => `Printed: ${textOf(parts)}`,
  },
  steps: (flow) =>
    flow
      .loop('draft', (again) => again.step('line', { agentId: 'write' }), {
        until: ({ previous }) => previous.text.length >= 7,
        maxIterations: 5,
      })
      .approval({ question: 'Print it?' })
      .step('print', { agentId: 'print' }),
})

const run = await runTeam(essay, 'Bees', { answers: ['yes'] })
console.log(run.delegations.map(({ member }) => member).join(' → '))
console.log(run.text)
