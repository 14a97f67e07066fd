import { defineWorkflow, runTeam } from 'corral/team'
import publisher from './publisher.mjs'
import writer from './writer.mjs'

const press = defineWorkflow({
  id: 'press',
  name: 'Press',
  agents: { writer, publisher },
  steps: (flow) =>
    flow
      .step('draft', {
        agentId: 'writer',
        input: ({ question, feedback }) =>
          feedback ? `${question.text}, ${feedback}` : question.text,
      })
      .approval({ question: 'Publish?', onFeedback: 'draft', maxFeedbackRounds: 3 })
      .step('publish', { agentId: 'publisher' }),
})

const answers = ['from Monday on', 'yes']
const { questions, text } = await runTeam(press, 'the bridge is open', { answers })
for (const line of [...questions, text]) console.log(line)
