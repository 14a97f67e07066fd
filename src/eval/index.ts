/**
 * Measure any A2A agent: drive it through the tasks of a domain with a simulated user, score what comes of it, compare
 * runs, and report.
 *
 * @module corral/eval
 */
export { type A2AConfig, type A2AConfigInput, createA2AConfig } from './agent/config.ts'
export type { ToolCallRequest } from './agent/dialects.ts'
export { type Endpoint, type EndpointOptions, openEndpoint } from './agent/endpoint.ts'
export { fromA2A, type TaskRead } from './agent/incoming.ts'
export {
  type A2AMessage,
  checkOutgoing,
  formatToolAsText,
  formatTools,
  type Introduction,
  toA2A,
} from './agent/outgoing.ts'
export { createGoldenAgent, createIdleAgent } from './agent/reference-agents.ts'
export { type ParsedReply, parseReply, parseToolCall, type ReplyOptions } from './agent/reply.ts'
export { type A2AAgentState, type ArtifactsRead, initialState } from './agent/state.ts'
export {
  type AgentUnderTest,
  type AgentUnderTest as A2AAgent,
  type AgentUnderTestOptions,
  type AgentUnderTestOptions as A2AAgentOptions,
  createAgentUnderTest,
  createAgentUnderTest as createA2AAgent,
} from './agent/under-test.ts'
export {
  A2AAuthError,
  A2ADiscoveryError,
  A2AMessageError,
  A2ATimeoutError,
  statusCodeOf,
  toEvalError,
  ValidationError,
} from './base/errors.ts'
export type { ChatModel, ModelOptions } from './base/model.ts'
export type { Turnstile } from './base/turnstile.ts'
export { type CallReport, type PlannedCall, parseCalls, runCalls } from './domain/call.ts'
export { type CallCheck, createCallCheck } from './domain/call-check.ts'
export { type CheckReport, checkDomain, type Finding, type FindingKind } from './domain/check.ts'
export type {
  AgentInput,
  ConversationMessage,
  Requestor,
  SpokenMessage,
  ToolCall,
  ToolMessage,
} from './domain/conversation.ts'
export type {
  Domain,
  DomainPrompts,
  Environment,
  JudgePrompt,
  Snapshot,
  StateHash,
  ToolDescriptor,
  ToolKind,
  ToolOutcome,
} from './domain/environment.ts'
export {
  type DomainFunction,
  defineDomain,
  type FunctionDomain,
  type ToolFunction,
  type ToolModule,
  type World,
} from './domain/functions.ts'
export { kestrel, kestrel as airline } from './domain/kestrel/domain.ts'
export {
  builtInDomains,
  findDomain,
  findDomainOf,
  loadDomain,
  resolveDomain,
} from './domain/load.ts'
export { defineMcpDomain, type McpDomain, type McpWorld } from './domain/mcp.ts'
export { presentName } from './domain/names.ts'
export type {
  EnvAssertion,
  EnvFunctionCall,
  EvalTask,
  EvaluationCriteria,
  GoldAction,
  InitialState,
  RewardType,
  ScriptedReply,
  UserScenario,
  UserScript,
} from './domain/task.ts'
export { parseTasks } from './domain/task-schema.ts'
export {
  type CollectorOptions,
  createCollector,
  type ExchangeTokens,
  type MeasuredExchange,
  type MetricsCollector,
} from './metrics/collector.ts'
export type { LoopLag } from './metrics/lag.ts'
export { checkMetrics, type ProtocolMetrics, type TokenSource, toDict } from './metrics/metrics.ts'
export { type PriceTable, parsePriceTable, type TokenPrice } from './metrics/prices.ts'
export {
  type LatencySpread,
  latencySpread,
  type MetricsDocument,
  type MetricsSummary,
  summarise,
  toMetricsArray,
  toMetricsDocument,
  toMetricsLine,
} from './metrics/summary.ts'
export {
  createTokenCounter,
  estimateTokens,
  estimator,
  type TokenCount,
  type TokenCounter,
} from './metrics/tokens.ts'
export { toHtml } from './report/html.ts'
export { toJUnit } from './report/junit.ts'
export { toMarkdown } from './report/markdown.ts'
export { headline, outcomeOf, percent, type SimulationOutcome as Outcome } from './report/words.ts'
export {
  type Comparison,
  checkGate,
  compareResults,
  type Gate,
  type GateResult,
  passRate,
  type Spread,
  spreadOf,
  type TaskComparison,
} from './results/compare.ts'
export { SimulationFault, type TerminationReason } from './results/fault.ts'
export { loadResults, saveResults } from './results/files.ts'
export { choose, type PassEstimate, passHatK, type Trials, wilson } from './results/pass-k.ts'
export {
  parseResults,
  type RecordedResults,
  type RecordedSimulation,
  requireOwn,
} from './results/recorded.ts'
export {
  type Change,
  type Rescored,
  type RescoreOptions,
  type RescoreReport,
  rescore,
} from './results/rescore.ts'
export type { EvalInfo, EvalResults, EvalSummary, TaskBaseline } from './results/results.ts'
export type { Simulation } from './results/simulation.ts'
export type { VerdictChange } from './results/verdicts.ts'
export { type Conversation, type ConversationOptions, converse, greeting } from './run/converse.ts'
export { runEvaluation } from './run/evaluate.ts'
export type { EvaluationOptions, Job, Progress } from './run/options.ts'
export { doNothingBaseline } from './run/to-results.ts'
export { agreeingJudge, createJudge, type JudgeOptions } from './scorers/judge.ts'
export { type Scorable, scoreConversation } from './scorers/reward.ts'
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
  evaluationPath,
  listEvaluations,
  readEvaluation,
} from './serve/archive.ts'
export { createEvaluator, type EvaluatorOptions } from './serve/evaluator.ts'
export type { DataOptions as Tau2DataOptions } from './tau2/data.ts'
export type { Tau2Domain } from './tau2/domain.ts'
export type { Tau2Environment } from './tau2/environment.ts'
export { createA2AUser } from './users/a2a.ts'
export { goldenUser } from './users/golden.ts'
export { createHumanUser, type Terminal } from './users/human.ts'
export { createLlmUser } from './users/llm.ts'
export { createReplayUser, type Recording } from './users/replay.ts'
export { scriptedUser } from './users/scripted.ts'
export {
  stopTokens,
  type User,
  type UserBriefing,
  type UserKind,
  type UserSimulator,
} from './users/user.ts'
