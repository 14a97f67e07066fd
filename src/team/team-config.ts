import type { Guards } from '../agents/guards/guard.ts'
import type { CapabilityDetail, Proficiency, SkillDetail } from '../protocol/profile.ts'
import type { AgentProvider } from '../protocol/types.ts'
import type { OwnScheduler, TeamAgentConfig } from './schedulers/scheduler.ts'
import type { Step } from './step-config.ts'

export type {
  AgentStep,
  ApprovalStep,
  AskRules,
  AsksNobody,
  BranchCase,
  BranchStep,
  Join,
  LoopRules,
  LoopStep,
  MapRules,
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
  /** Unique in its server and file. */
  readonly id: string
  readonly name: string
  /** What it does, for those who choose among agents. */
  readonly description: string
  /** The members, in order. */
  readonly agents: readonly TeamAgentConfig[]
  /** How the team works; its `type` is the team's mode. */
  readonly scheduler: TeamScheduler
  /** The team's own version, for its card. */
  readonly version?: string
  /** Who runs it, for its card. */
  readonly provider?: AgentProvider
  /** Descriptions and versions of abilities, for cards. */
  readonly capabilityDetails?: readonly CapabilityDetail[]
  /** What the team is good at and how good, for cards. */
  readonly proficiencies?: readonly Proficiency[]
  /** Skills for A2A cards; derived from the abilities if absent. */
  readonly skills?: readonly SkillDetail[]
  /** What one run may use up. */
  readonly budget?: BudgetConfig
  /** Guards on what the team is asked and on what it answers. */
  readonly guards?: Guards
}

/** How a team works, in one of the built-in ways. */
export type SchedulerConfig<Id extends string = string> =
  | SupervisorConfig<Id>
  | WorkflowConfig<Id>
  | RouterConfig<Id>

/** The names of the built-in ways in which a team can work. */
export type TeamMode = SchedulerConfig['type']

/** How a team works: in a built-in way, or in one of your own. */
export type TeamScheduler<Id extends string = string> = SchedulerConfig<Id> | OwnScheduler

/** A scheduler as you may write it: the type of a built-in one may begin with a capital. */
export type SchedulerSpelling<Id extends string = string> =
  | TeamScheduler<Id>
  | Capitalized<SchedulerConfig<Id>>

type Capitalized<T extends SchedulerConfig> = T extends unknown
  ? Omit<T, 'type'> & { readonly type: Capitalize<T['type']> }
  : never

/** A team's configuration as you may write it. */
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
  /** The member that leads. */
  readonly supervisorAgentId: Id
  /** Rounds of delegation before the run fails; 10 by default. */
  readonly maxRounds?: number
}

/** Members answer in a fixed order; each answer is the next one's question, where a step does not say another. */
export interface WorkflowConfig<Id extends string = string> {
  readonly type: 'workflow'
  /** Who does what, in which order. */
  readonly steps: readonly Step<Id>[]
}

/** Members pass the message on among themselves, starting with the default agent. */
export interface RouterConfig<Id extends string = string> {
  readonly type: 'router'
  /** The member that gets the message first. */
  readonly defaultAgentId: Id
  /** How often the message may be passed on before the run fails; 10 by default. */
  readonly maxRoutingHops?: number
}

/** What one run may use up. */
export interface BudgetConfig {
  /** Calls of members in one run, at most 100, which is also the default. */
  readonly maxHops?: number
  /** How many teams may stand above this one, over HTTP too; 16 by default. */
  readonly maxDepth?: number
  /** How long a run may take; as long as it likes if absent. */
  readonly maxSeconds?: number
  /** Tokens that models may use; as many as they like if absent. */
  readonly maxTokens?: number
  /** Money, by the prices of the models and by what remote members report; what has no price counts as nothing. */
  readonly maxCostUsd?: number
}
