import { A2AError } from '../../../protocol/errors.ts'
import type { Refuse } from '../../faults.ts'
import type { WorkflowConfig } from '../../team-config.ts'
import type { Schedule, SchedulerKind } from '../kind.ts'
import { checkSteps } from './check.ts'
import { runList } from './list.ts'
import { checkNames } from './names.ts'
import { inOrder } from './order.ts'
import { planWorkflow } from './plan.ts'
import { Results } from './results.ts'

/** The row of the table: members answer in a fixed order. */
export const workflow: SchedulerKind<WorkflowConfig> = {
  mode: ({ type }) => type,
  check({ steps }, members, refuse) {
    checkSteps(steps, members, refuse)
    checkNames(steps, refuse)
    planWorkflow(steps, refuse)
  },
  first({ steps }) {
    const [first] = inOrder(steps)
    return first && 'agentId' in first.step ? first.step.agentId : undefined
  },
  create: createWorkflow,
}

/** Members answer in a fixed order: a step's answer is the next one's question, unless the step says another. */
function createWorkflow(config: WorkflowConfig): Schedule {
  const steps = planWorkflow(config.steps, unchecked)
  return async (run) => {
    const input = run.memory.message
    const known = { results: new Results(), feedback: '', untold: '' }
    const start = { run, name: '', input, previous: undefined, last: true, known }
    const answer = await runList(steps, start)
    if (!answer)
      throw new A2AError('processingError', 'No step of the workflow applies to this message')
    return answer
  }
}

/** A team is checked before its scheduler is made. */
const unchecked: Refuse = (_fault, reason) => {
  throw new TypeError(reason)
}
