import type { ContextValues } from '../agents/agent.ts'
import type { Guards } from '../agents/guards/guard.ts'
import type { SchemaInput } from '../agents/schema.ts'
import type { CapabilityDetail, Proficiency, SkillDetail } from '../protocol/card.ts'
import type { AgentProvider, Json, JsonObject, Part } from '../protocol/types.ts'
import { type Rows, row } from '../shared/rows.ts'
import type { CallRules, OwnScheduler, TeamAgentConfig } from './schedulers/scheduler.ts'

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
  /** Calls of members in one run; 1,000 by default. */
  readonly maxDelegations?: number
  /** The same, at most 100: the lower of the two holds. */
  readonly maxHops?: number
  /** How many teams may stand above this one, over HTTP too; 16 by default. */
  readonly maxDepth?: number
  /** How long a run may take; as long as it likes if absent. */
  readonly maxSeconds?: number
  /** Tokens that models may use; as many as they like if absent. */
  readonly maxTokens?: number
  /** Money, by the prices of the models and by what remote members report; what has no price counts as nothing. */
  readonly maxCostUsd?: number
  /**
   * What becomes of an answer of a model, the service of which reports no usage, where there is a limit in tokens or money:
   * it counts by its length, fails the run, or counts as nothing; `estimate` by default.
   */
  readonly unknown?: 'estimate' | 'fail' | 'ignore'
}

/** One step of a workflow. */
export type Step<Id extends string = string> =
  | AgentStep<Id>
  | AsksNobody<ParallelStep<Id> | BranchStep<Id> | LoopStep<Id> | MapStep<Id> | ApprovalStep>

/** A step that asks no member itself: what is said to a member has no place beside it. */
export type AsksNobody<T> = T & { readonly [Key in keyof AskRules | keyof CallRules]?: never }

/** What every step may say. */
export interface StepRules {
  /** What later steps know it by, `steps.<name>`; unique in the workflow. Without one nobody can refer to it. */
  readonly name?: string
  /** Steps run in ascending order; equal orders keep their place in the list. */
  readonly order?: number
  /** The step runs only if this holds. */
  readonly when?: Rule<boolean>
  /** The step runs only if the previous answer contains this text; empty means always. Not beside `when`. */
  readonly condition?: string
}

/**
 * A rule of a step: a CEL expression over `question`, `previous`, `steps.<name>`, `context`, `feedback`, and where there
 * are such `item` and `round`, or a function of the same. What a function gave is remembered: it is not called again when
 * the run is repeated.
 */
export type Rule<T, Scope = StepScope> = string | ((scope: Scope) => T | Promise<T>)

/** What a step gave, or the user asked. A step that has not run gave no text and no data. */
export interface StepResult<Data = Json | undefined> {
  /** Its words; those of an answer that is data alone are the data as JSON. */
  readonly text: string
  /** The data of its data part, a list of them where there are several. */
  readonly data: Data
}

/** What the rules of a step see. */
export interface StepScope<Steps = Readonly<Record<string, StepResult>>> {
  /** What the team was asked. */
  readonly question: StepResult
  /** The answer before this step; before the first one, the question. */
  readonly previous: StepResult
  /** The results of earlier steps by their names: those of the same list, of enclosing ones, and of lists that have ended. */
  readonly steps: Steps
  /** What the user said to an approval that names `onFeedback`; empty otherwise. */
  readonly feedback: string
  /** Values that stay with the conversation. */
  readonly context: ContextValues
  /** The item of the `map` around the step. */
  readonly item?: Json
  /** The round of the loop around the step, from 1. */
  readonly round?: number
}

/** What a step asks of its member, and of the answer. */
export interface AskRules {
  /** What the member is asked: a template with `{{ expression }}`, or a function; the previous answer if absent. */
  readonly input?: Rule<string | readonly Part[]>
  /** What the answer must fit; it becomes data. */
  readonly outputSchema?: SchemaInput
  /** The JSON Schema of `outputSchema`, where its library gives none. */
  readonly jsonSchema?: JsonObject
  /** How often an answer that does not fit is asked for again; 2 if absent. */
  readonly maxOutputRetries?: number
}

/** A step in which a member answers. */
export interface AgentStep<Id extends string = string> extends StepRules, AskRules, CallRules<Id> {
  /** The member. */
  readonly agentId: Id
}

/** A step that asks several at once, each the same. */
export interface ParallelStep<Id extends string = string> extends StepRules {
  /** The steps that run at once. */
  readonly parallel: readonly Step<Id>[]
  /** How their answers become one; under headings, in order, if absent. */
  readonly join?: Join<Id>
}

/** How the answers of parallel steps become one: by a member, a template or a function. */
export type Join<Id extends string = string> =
  | (AskRules & CallRules<Id> & { readonly agentId: Id })
  | Rule<string | readonly Part[]>

/** A step that chooses: the first case whose `when` holds runs its steps. */
export interface BranchStep<Id extends string = string> extends StepRules {
  readonly branch: readonly BranchCase<Id>[]
}

/** One way that a branch may go. */
export interface BranchCase<Id extends string = string> {
  /** Whether this case runs; absent in the last one, which runs if no other does. */
  readonly when?: Rule<boolean>
  /** What it runs. */
  readonly steps: readonly Step<Id>[]
}

/** A step that repeats steps until `until` holds, at most `maxIterations` times. */
export interface LoopStep<Id extends string = string> extends StepRules {
  readonly loop: LoopRules<Id>
}

/** What is repeated, and until when. */
export interface LoopRules<Id extends string> {
  /** What is repeated. */
  readonly steps: readonly Step<Id>[]
  /** A text that the answer contains, or a rule: an expression that names what it looks at, such as `previous.data.done`. */
  readonly until: Rule<boolean>
  /** The most rounds; the answer of the last one counts. */
  readonly maxIterations: number
}

/** A step that asks a member, or runs steps, once per item of a list; the answers keep the items' order. */
export interface MapStep<Id extends string = string> extends StepRules {
  readonly map: MapRules<Id> & ({ readonly agentId: Id } | { readonly steps: readonly Step<Id>[] })
}

/** Which list a `map` goes through, and how. */
export interface MapRules<Id extends string = string> extends CallRules<Id>, AskRules {
  /** The list; what the previous answer holds as one if absent. */
  readonly over?: Rule<readonly Json[]>
  /** The most items that the list may have; 1,000 by default. Each costs a delegation of the team's budget, or more. */
  readonly maxItems?: number
  /** Items at once; 8 by default. */
  readonly maxParallel?: number
}

/**
 * A step that shows the user the answer so far and asks; what the user says decides whether and how the run goes on.
 */
export interface ApprovalStep extends StepRules {
  readonly approval: {
    /** What the user is asked. */
    readonly question: string
    /** The earlier step, of this list or an enclosing one, that runs again with what is neither a yes nor a no. */
    readonly onFeedback?: string
    /** How often, before the task is rejected; 5 if absent. */
    readonly maxFeedbackRounds?: number
  }
}

/** The team in the spelling that the code goes by. */
export function toTeamConfig(team: TeamSpelling): TeamConfig {
  const { scheduler } = team
  const type = String(scheduler?.type).toLowerCase() // what is no scheduler is refused where the team is checked
  if (type === String(scheduler?.type)) return team as TeamConfig // only the case of the type may differ
  const spelled = { ...scheduler, type } as TeamScheduler // and here no longer does
  return { ...team, scheduler: spelled }
}

/** The most rounds, items at once and hops that a team may be given. */
export const hardCap = 100

/** `[[teams.agents]]`: the members. */
export const memberRows: Rows<TeamAgentConfig> = {
  agentId: row.text(
    { required: true, examples: ['writer'] },
    'The id of an agent or of another team of this file.',
  ),
  role: row.anyText(
    { examples: ['author'] },
    'What its answers stand under where a workflow shows them; its id if absent.',
  ),
  capabilities: row.texts(
    { examples: [['writing']] },
    "What it does in this team. The team's card shows it beside what the agent says.",
  ),
}

/** `[teams.scheduler_config]` of a supervisor. */
export const supervisorRows: Rows<Omit<SupervisorConfig, 'type'>, 'maxRounds'> = {
  supervisorAgentId: row.text(
    { required: true, examples: ['writer'] },
    'The member that leads, where a supervisor does.',
  ),
  maxRounds: row.number(
    { max: hardCap, default: 10, examples: [5] },
    'How often the supervisor may delegate, 100 at most; then the run fails.',
  ),
}

/** `[teams.router_config]`. */
export const routerRows: Rows<Omit<RouterConfig, 'type'>, 'maxRoutingHops'> = {
  defaultAgentId: row.text(
    { required: true, examples: ['writer'] },
    'The member that gets the message first.',
  ),
  // RANCH's number of hops.
  maxRoutingHops: row.number(
    { max: hardCap, default: 10, examples: [5] },
    'How many members may get the message in one run, 100 at most; then the run fails.',
  ),
}

const { MAX_SAFE_INTEGER: max } = Number

/** `[teams.budget]`. */
export const budgetRows: Rows<BudgetConfig, 'maxDelegations' | 'maxDepth' | 'unknown'> = {
  maxDelegations: row.number({ max, default: 1_000, examples: [5_000] }, 'Delegations in one run.'),
  maxHops: row.number(
    { max: hardCap, examples: [20] },
    'The same as `max_delegations`, 100 at most; the lower of the two holds.',
  ),
  maxDepth: row.number(
    { max: hardCap, default: 16, examples: [4] },
    'How many teams a message may have passed before this one, over HTTP too.',
  ),
  maxSeconds: row.number(
    { max, examples: [240] },
    'How long one run may take, in seconds; no limit if absent.',
  ),
  maxTokens: row.number(
    { max, examples: [50_000] },
    'Tokens of input and output that one run may use; no limit if absent.',
  ),
  maxCostUsd: row.number(
    { max, examples: [0.5] },
    'US dollars that one run may cost, by `[prices]` and by what remote members report; no limit if absent.',
  ),
  unknown: row.choice(
    { of: ['estimate', 'fail', 'ignore'], default: 'estimate', examples: ['fail'] },
    'What becomes of an answer of a model that comes without its usage, where there is a limit in tokens or money: `estimate` counts it by its length, `fail` ends the run, `ignore` counts it as nothing.',
  ),
}

/** The version that cards show where a file names none. */
export const firstVersion = '1.0.0'

/** `[[teams]]`, but for how a team works. Files say `skills` for its proficiencies. */
export const teamRows: Rows<Omit<TeamConfig, 'scheduler' | 'skills'>> = {
  id: row.text(
    { required: true, examples: ['writers'] },
    "Names the team in this file and in the server's paths, `/agents/ID`: letters, digits, `.`, `_`, `:` and `-`. Agents and teams share their ids.",
  ),
  name: row.text({ required: true, examples: ['Writers'] }, 'What people and cards call the team.'),
  description: row.anyText(
    { required: true, examples: ['Writes and reviews articles'] },
    'What the team is for. Cards show it; a team around this one chooses by it.',
  ),
  agents: row.tables(
    {
      required: true,
      of: memberRows,
      examples: [[{ agent_id: 'writer', role: 'author' }, { agent_id: 'reviewer' }]],
    },
    'The members, at least one.',
  ),
  budget: row.table(
    { of: budgetRows, examples: [{ max_hops: 20, max_seconds: 240 }] },
    'What one run may use. A run that comes to a limit fails and says which.',
  ),
  guards: row.table(
    { examples: [{ output: ['secrets'] }] },
    'What looks at messages to the team and at its answers.',
  ),
  version: row.text(
    { default: firstVersion, examples: ['2.1.0'] },
    'The version of the team, a semantic one. Cards show it, and it is part of the definition that a running task belongs to.',
  ),
  provider: row.table(
    { examples: [{ name: 'Example Press', url: 'https://example.com' }] },
    'Who runs the team. Cards show it.',
  ),
  capabilityDetails: row.tables(
    { examples: [[{ name: 'writing', description: 'Writes articles', version: '2.0.0' }]] },
    'Words for capabilities of the team, which cards show with its skills, and their versions, which the RANCH dialect shows.',
  ),
  proficiencies: row.tables(
    { examples: [[{ name: 'editing', proficiency: 'expert' }]] },
    'What the team is good at. Cards of the RANCH dialect show it.',
  ),
}
