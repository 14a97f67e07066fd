/**
 * Measure any A2A agent: drive it through the tasks of a domain with a simulated user, score what comes of it, compare
 * runs, and report.
 *
 * @module corral/eval
 */

export {
  type A2AMessage,
  checkOutgoing,
  formatToolAsText,
  formatTools,
  fromA2A,
  type Introduction,
  type ParsedReply,
  parseReply,
  parseToolCall,
  type ReplyOptions,
  type TaskRead,
  type ToolCallRequest,
  toA2A,
} from './agent/messages.ts'
export { createGoldenAgent, createIdleAgent } from './agent/reference-agents.ts'
export {
  type A2AConfig,
  type A2AConfigInput,
  type AgentUnderTest,
  type AgentUnderTest as A2AAgent,
  type AgentUnderTestOptions,
  type AgentUnderTestOptions as A2AAgentOptions,
  createA2AConfig,
  createAgentUnderTest,
  createAgentUnderTest as createA2AAgent,
  type Endpoint,
  type EndpointOptions,
  openEndpoint,
} from './agent/under-test.ts'
export {
  A2AAuthError,
  A2ADiscoveryError,
  A2AMessageError,
  A2ATimeoutError,
  statusCodeOf,
  type Turnstile,
  toEvalError,
  ValidationError,
} from './base.ts'
export {
  type CallReport,
  type CheckReport,
  checkDomain,
  type Finding,
  type FindingKind,
  type PlannedCall,
  parseCalls,
  runCalls,
} from './domain/check.ts'
export type {
  AgentInput,
  ConversationMessage,
  Domain,
  DomainPrompts,
  EnvAssertion,
  EnvFunctionCall,
  Environment,
  EvalTask,
  EvaluationCriteria,
  GoldAction,
  InitialState,
  JudgePrompt,
  Requestor,
  RewardType,
  ScriptedReply,
  Snapshot,
  SpokenMessage,
  StateHash,
  ToolCall,
  ToolDescriptor,
  ToolKind,
  ToolMessage,
  ToolOutcome,
  UserScenario,
  UserScript,
} from './domain/domain.ts'
export {
  type DomainFunction,
  defineDomain,
  defineMcpDomain,
  type FunctionDomain,
  type McpDomain,
  type McpWorld,
  type ToolFunction,
  type ToolModule,
  type World,
} from './domain/functions.ts'
export { kestrel, kestrel as airline } from './domain/kestrel.ts'
export {
  builtInDomains,
  findDomain,
  findDomainOf,
  loadDomain,
  resolveDomain,
} from './domain/load.ts'
export { type CallCheck, createCallCheck, parseTasks, presentName } from './domain/replay.ts'
export {
  type CollectorOptions,
  checkMetrics,
  createCollector,
  createTokenCounter,
  type ExchangeTokens,
  estimateTokens,
  estimator,
  type LatencySpread,
  type LoopLag,
  latencySpread,
  type MeasuredExchange,
  type MetricsCollector,
  type MetricsDocument,
  type MetricsSummary,
  type PriceTable,
  type ProtocolMetrics,
  parsePriceTable,
  summarise,
  type TokenCount,
  type TokenCounter,
  type TokenPrice,
  type TokenSource,
  toDict,
  toMetricsArray,
  toMetricsDocument,
  toMetricsLine,
} from './metrics.ts'
export type { ChatModel, ModelOptions } from './model.ts'
export {
  headline,
  outcomeOf,
  percent,
  type SimulationOutcome as Outcome,
  toHtml,
  toJUnit,
  toMarkdown,
} from './report.ts'
export {
  type Change,
  type Comparison,
  checkGate,
  compareResults,
  type Gate,
  type GateResult,
  passRate,
  type Rescored,
  type RescoreOptions,
  type RescoreReport,
  rescore,
  type Spread,
  spreadOf,
  type TaskComparison,
  type VerdictChange,
} from './results/compare.ts'
export {
  choose,
  type EvalInfo,
  type EvalResults,
  type EvalSummary,
  type PassEstimate,
  parseResults,
  passHatK,
  type RecordedResults,
  type RecordedSimulation,
  requireOwn,
  type TaskBaseline,
  type Trials,
  wilson,
} from './results/results.ts'
export {
  type A2AAgentState,
  type ArtifactsRead,
  initialState,
  type Simulation,
  SimulationFault,
  type TerminationReason,
} from './results/simulation.ts'
export { runEvaluation } from './run/evaluate.ts'
export { doNothingBaseline, loadResults, saveResults } from './run/journal.ts'
export type { EvaluationBounds, EvaluationOptions, Job, Progress } from './run/plan.ts'
export { type Conversation, type ConversationOptions, converse, greeting } from './run/simulate.ts'
export {
  agreeingJudge,
  createJudge,
  type JudgeOptions,
  type Scorable,
  scoreConversation,
} from './scorers/built-in.ts'
export type {
  Judge,
  RewardChecks,
  RewardInfo,
  Score,
  ScoreCheck,
  Scorer,
  ScorerInput,
  ScorerNeed,
} from './scorers/scorer.ts'
export {
  type ArchiveEntry,
  createEvaluator,
  type EvaluatorOptions,
  evaluationPath,
  listEvaluations,
  readEvaluation,
} from './serve.ts'
export type { DataOptions as Tau2DataOptions } from './tau2/data.ts'
export type { Tau2Domain } from './tau2/domain.ts'
export type { Tau2Environment } from './tau2/environment.ts'
export {
  createA2AUser,
  createHumanUser,
  createLlmUser,
  createReplayUser,
  goldenUser,
  type Recording,
  scriptedUser,
  stopTokens,
  type Terminal,
  type User,
  type UserBriefing,
  type UserKind,
  type UserSimulator,
} from './users.ts'
