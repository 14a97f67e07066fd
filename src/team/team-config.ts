import type { Guards } from '../agents/guards/guard.ts'
import type { CapabilityDetail, Proficiency, SkillDetail } from '../protocol/profile.ts'
import type { AgentProvider } from '../protocol/types.ts'
import type { CallRules, OwnScheduler, TeamAgentConfig } from './schedulers/scheduler.ts'

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

/** Members answer in a fixed order; each answer is the next one's question. */
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

/** One step of a workflow. */
export type Step<Id extends string = string> =
  | AgentStep<Id>
  | ParallelStep<Id>
  | LoopStep<Id>
  | MapStep<Id>
  | ApprovalStep

/** What every step may say. */
export interface StepRules {
  /** Steps run in ascending order; equal orders keep their place in the list. */
  readonly order?: number
  /** The step runs only if the previous answer contains this text; empty means always. */
  readonly condition?: string
}

/** A member answers. */
export interface AgentStep<Id extends string = string> extends StepRules, CallRules<Id> {
  readonly agentId: Id
}

/** Several steps get the same question at once; their answers are joined in the order of the list. */
export interface ParallelStep<Id extends string = string> extends StepRules {
  readonly parallel: readonly Step<Id>[]
}

/** Steps are repeated until the answer contains `until`, at most `maxIterations` times. */
export interface LoopStep<Id extends string = string> extends StepRules {
  readonly loop: {
    readonly steps: readonly Step<Id>[]
    readonly until: string
    readonly maxIterations: number
  }
}

/** A member answers once per item of the list that the previous answer is; the answers keep the items' order. */
export interface MapStep<Id extends string = string> extends StepRules {
  readonly map: CallRules<Id> & {
    readonly agentId: Id
    /** Items at once; 8 by default. */
    readonly maxParallel?: number
  }
}

/** The user is shown the answer so far and asked; what the user says decides whether and how the run goes on. */
export interface ApprovalStep extends StepRules {
  readonly approval: { readonly question: string }
}

/** What one run may use up. */
export interface BudgetConfig {
  /** Delegations in one run, at most 100, which is also the default. */
  readonly maxHops?: number
  /** How many teams may stand above this one, over HTTP too; 16 by default. */
  readonly maxDepth?: number
  readonly maxSeconds?: number
  readonly maxTokens?: number
}
