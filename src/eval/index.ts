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
  parseReply,
  parseToolCall,
  type ToolCallRequest,
  toA2A,
} from './agent/messages.ts'
export { createGoldenAgent, createIdleAgent } from './agent/reference-agents.ts'
export {
  type A2AConfig,
  type AgentUnderTest as A2AAgent,
  type AgentUnderTestOptions as A2AAgentOptions,
  createA2AConfig,
  createAgentUnderTest,
  createAgentUnderTest as createA2AAgent,
  type Endpoint,
  openEndpoint,
} from './agent/under-test.ts'
export {
  A2AAuthError,
  A2ADiscoveryError,
  A2AMessageError,
  A2ATimeoutError,
  statusCodeOf,
  ValidationError,
} from './base.ts'
export type { Domain, ToolCall, ToolDescriptor, ToolMessage } from './domain/domain.ts'
export { defineDomain, defineMcpDomain } from './domain/functions.ts'
export { kestrel, kestrel as airline } from './domain/kestrel.ts'
export { loadDomain, resolveDomain } from './domain/load.ts'
export {
  checkMetrics,
  createCollector,
  estimateTokens,
  type MetricsCollector,
  type MetricsDocument,
  type ProtocolMetrics,
  summarise,
  toDict,
  toMetricsArray,
  toMetricsDocument,
} from './metrics.ts'
export { toHtml, toJUnit, toMarkdown } from './report.ts'
export { checkGate, compareResults, type Gate, rescore } from './results/compare.ts'
export { choose, type EvalResults, type RecordedResults, wilson } from './results/results.ts'
export { type A2AAgentState, type Simulation, SimulationFault } from './results/simulation.ts'
export { runEvaluation } from './run/evaluate.ts'
export { loadResults } from './run/journal.ts'
export type { EvaluationOptions } from './run/plan.ts'
export { converse } from './run/simulate.ts'
export { createJudge } from './scorers/built-in.ts'
export type { Judge, Score, Scorer, ScorerInput } from './scorers/scorer.ts'
export { createEvaluator, evaluationPath, readEvaluation } from './serve.ts'
export { createLlmUser, goldenUser, scriptedUser, type UserSimulator } from './users.ts'
