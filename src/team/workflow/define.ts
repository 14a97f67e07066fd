import { defineTeam, type Team, type TeamDefinition } from '../team.ts'
import { startFlow } from './builder.ts'
import type { Flow, FlowSteps } from './flow.ts'
import type { FlowMembers, FlowStart } from './state.ts'

/** A workflow with the agents it is made of: `agents` lists the members, each with its id, and `steps` says who does what. */
export interface WorkflowDefinition<Members extends FlowMembers>
  extends Omit<TeamDefinition, 'agents' | 'scheduler'> {
  /** The members by their ids; functions may be members. */
  readonly agents: Members
  /** Says who does what: `(flow) => flow.step('plan', { agentId: 'planner' }).step(…)`. */
  readonly steps: (flow: Flow<FlowStart<NoInfer<Members>>>) => FlowSteps
}

/**
 * Makes a team that works step by step. The rules of a step see the results of those before it, with the types of
 * their data.
 * @throws InvalidTeamError for a team that is not valid.
 */
export function defineWorkflow<const Members extends FlowMembers>(
  definition: WorkflowDefinition<Members>,
): Team {
  const { steps, ...team } = definition
  const flow = startFlow<FlowStart<Members>>()
  return defineTeam({ ...team, scheduler: { type: 'workflow', steps: steps(flow).steps } })
}
