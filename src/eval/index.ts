/** `corral/eval`: measure any A2A agent. */
export { type A2AAgent, type A2AAgentOptions, createA2AAgent } from './agent/a2a-agent.ts'
export { type Endpoint, type EndpointOptions, openEndpoint } from './agent/endpoint.ts'
export { airline } from './airline/domain.ts'
export { doNothingBaseline } from './baseline.ts'
export type { ChatModel } from './chat.ts'
export {
  type Comparison,
  checkGate,
  compareResults,
  type Gate,
  type GateResult,
  passRate,
  type TaskComparison,
} from './compare.ts'
export { type A2AConfig, type A2AConfigInput, createA2AConfig } from './config.ts'
export type {
  AgentInput,
  ConversationMessage,
  Requestor,
  SpokenMessage,
  ToolCall,
  ToolMessage,
} from './conversation.ts'
export { type CallReport, type PlannedCall, parseCalls, runCalls } from './domain/call.ts'
export { type CheckReport, checkDomain, type Finding, type FindingKind } from './domain/check.ts'
export { findDomain } from './domain/find.ts'
export {
  type DomainFunction,
  defineDomain,
  type FunctionDomain,
  type ToolFunction,
  type ToolModule,
  type World,
} from './domain/functions.ts'
export { builtInDomains, loadDomain, resolveDomain } from './domain/load.ts'
export { defineMcpDomain, type McpDomain, type McpWorld } from './domain/mcp.ts'
export type { Domain, Environment, StateHash, ToolKind, ToolOutcome } from './environment.ts'
export {
  A2AAuthError,
  A2ADiscoveryError,
  A2AMessageError,
  A2ATimeoutError,
  statusCodeOf,
  toEvalError,
  ValidationError,
} from './errors.ts'
export { type A2AMessage, checkOutgoing } from './message.ts'
export { createCollector, type MetricsCollector } from './metrics/collector.ts'
export {
  type MetricsDocument,
  toMetricsArray,
  toMetricsDocument,
  toMetricsLine,
} from './metrics/export.ts'
export { checkMetrics, type ProtocolMetrics, type TokenSource, toDict } from './metrics/metrics.ts'
export {
  type LatencySpread,
  latencySpread,
  type MetricsSummary,
  summarise,
} from './metrics/summary.ts'
export { type Conversation, type ConversationOptions, converse, greeting } from './orchestrator.ts'
export { choose, type PassEstimate, passHatK, type Trials, wilson } from './pass-k.ts'
export { type PriceTable, parsePriceTable, type TokenPrice } from './prices.ts'
export {
  parseResults,
  type RecordedResults,
  type RecordedSimulation,
  requireOwn,
} from './recorded.ts'
export { createGoldenAgent, createIdleAgent } from './reference-agents.ts'
export { type Spread, spreadOf } from './repeat.ts'
export { toHtml } from './report/html.ts'
export { toJUnit } from './report/junit.ts'
export { toMarkdown } from './report/markdown.ts'
export { headline, type Outcome, outcomeOf, percent } from './report/words.ts'
export { type Rescored, type RescoreOptions, type RescoreReport, rescore } from './rescore.ts'
export type { EvalInfo, EvalResults, EvalSummary, TaskBaseline } from './results.ts'
export { runEvaluation } from './run/evaluate.ts'
export { loadResults, saveResults } from './run/files.ts'
export type { EvaluationOptions, Job, Progress } from './run/options.ts'
export { createJudge, type Judge } from './scorers/judge.ts'
export { type Scorable, scoreConversation } from './scorers/reward.ts'
export {
  type ArchiveEntry,
  evaluationPath,
  listEvaluations,
  readEvaluation,
} from './serve/archive.ts'
export { createEvaluator, type EvaluatorOptions } from './serve/evaluator.ts'
export {
  type RewardInfo,
  type Simulation,
  SimulationFault,
  type TerminationReason,
} from './simulation.ts'
export { type A2AAgentState, initialState } from './state.ts'
export {
  type EnvAssertion,
  type EvalTask,
  type EvaluationCriteria,
  type GoldAction,
  parseTasks,
  type RewardType,
  type ScriptedReply,
  type UserScript,
} from './task.ts'
export { createTokenCounter, estimateTokens, estimator, type TokenCounter } from './tokens.ts'
export { type CallCheck, createCallCheck } from './tools/check.ts'
export { formatToolAsText, formatTools, type ToolDescriptor } from './tools/descriptor.ts'
export type { ToolCallRequest } from './tools/dialects.ts'
export { type ParsedReply, parseReply, parseToolCall, type ReplyOptions } from './tools/reply.ts'
export { fromA2A, type Introduction, toA2A } from './translate.ts'
export { createA2AUser } from './users/a2a.ts'
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
