import type { Guards } from '../agents/guards/guard.ts'
import type { CapabilityDetail, Proficiency, SkillDetail } from '../protocol/profile.ts'
import type { AgentProvider } from '../protocol/types.ts'
import type { OwnScheduler, TeamAgentConfig } from './schedulers/scheduler.ts'
import type { Step } from './step-config.ts'

export type {
  AgentStep,
  ApprovalStep,
  AskRules,
  BranchCase,
  BranchStep,
  Join,
  LoopStep,
  MapStep,
  ParallelStep,
  Rule,
  Step,
  StepResult,
  StepRules,
  StepScope,
} from './step-config.ts'

/** What a team is made of. The TOML names are the same in snake case. */
export interface TeamConfig {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly agents: readonly TeamAgentConfig[]
  /** How the team works; its `type` is the team's mode. */
  readonly scheduler: TeamScheduler
  readonly version?: string
  readonly provider?: AgentProvider
  /** Words and versions of abilities, for cards. */
  readonly capabilityDetails?: readonly CapabilityDetail[]
  /** What the team is good at, for cards; RANCH calls these skills. */
  readonly proficiencies?: readonly Proficiency[]
  /** Skills for A2A cards; derived from the abilities if absent. */
  readonly skills?: readonly SkillDetail[]
  readonly budget?: BudgetConfig
  /** Look at what the team is asked and at what it answers. */
  readonly guards?: Guards
}

/** How a team works, in one of the built-in ways; the members that it names are some of `Id`. */
export type SchedulerConfig<Id extends string = string> =
  | SupervisorConfig<Id>
  | WorkflowConfig<Id>
  | RouterConfig<Id>

/** The names of the built-in ways in which a team can work. */
export type TeamMode = SchedulerConfig['type']

/** How a team works: in a built-in way, or in one of the user's own. */
export type TeamScheduler<Id extends string = string> = SchedulerConfig<Id> | OwnScheduler

/** A scheduler as it may be written: the type of a built-in one may begin with a capital. */
export type SchedulerSpelling<Id extends string = string> =
  | TeamScheduler<Id>
  | Capitalized<SchedulerConfig<Id>>

type Capitalized<T extends SchedulerConfig> = T extends unknown
  ? Omit<T, 'type'> & { readonly type: Capitalize<T['type']> }
  : never

/** A team as it may be written. */
export interface TeamSpelling extends Omit<TeamConfig, 'scheduler'> {
  readonly scheduler: SchedulerSpelling
}

/** The team in the spelling that the code goes by. */
export function toTeamConfig(team: TeamSpelling): TeamConfig {
  const { scheduler } = team
  const type = String(scheduler?.type).toLowerCase() // what is no scheduler is refused where the team is checked
  if (type === String(scheduler?.type)) return team as TeamConfig // only the case of the type may differ
  const spelled = { ...scheduler, type } as TeamScheduler // and here no longer does
  return { ...team, scheduler: spelled }
}

/** One member leads: it sees the others' cards and delegates until it answers. */
export interface SupervisorConfig<Id extends string = string> {
  readonly type: 'supervisor'
  readonly supervisorAgentId: Id
  /** Rounds of delegation before the run fails; 10 by default. */
  readonly maxRounds?: number
}

/** Members answer in a fixed order; each answer is the next one's question, where a step does not say another. */
export interface WorkflowConfig<Id extends string = string> {
  readonly type: 'workflow'
  readonly steps: readonly Step<Id>[]
}

/** Members pass the message on among themselves, starting with the default agent. */
export interface RouterConfig<Id extends string = string> {
  readonly type: 'router'
  readonly defaultAgentId: Id
  /** 10 by default. */
  readonly maxRoutingHops?: number
}

/** What one run may use up. */
export interface BudgetConfig {
  /** Delegations in one run, at most 100, which is also the default. */
  readonly maxHops?: number
  /** How many teams may stand above this one, over HTTP too; 16 by default. */
  readonly maxDepth?: number
  readonly maxSeconds?: number
  readonly maxTokens?: number
  /** Money, by the prices of the models and by what remote members report; what has no price counts as nothing. */
  readonly maxCostUsd?: number
}
