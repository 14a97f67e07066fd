/** Seed 001 as a program: configuration, tools as text, and an agent that is measured over A2A. Run: npx tsx examples/seeds/001.mts */
import { deepEqual, equal, throws } from 'node:assert/strict'
import {
  createA2AConfig,
  createGoldenAgent,
  formatTools,
  kestrel,
  parseToolCall,
  runEvaluation,
  toMetricsDocument,
} from 'corral/eval'
import { createServer, listen } from 'corral/server'

// A2AConfig: the trailing slash goes, the defaults come, wrong values are errors.
const { endpoint, timeout } = createA2AConfig({ endpoint: 'https://agent.example.com/' })
console.log(endpoint, timeout)
throws(() => createA2AConfig({ endpoint, timeout: 0 }), /timeout must be positive, got 0/)

// ToolDescriptor and ToolCallRequest: tools go out as text, calls come back as data.
const parameters = { properties: { id: { type: 'string', description: 'The booking' } } }
console.log(formatTools([{ name: 'cancel', description: 'Cancels a booking', parameters }]))
const call = parseToolCall({ data: { tool_call: { name: 'cancel', arguments: { id: 'K1' } } } })
deepEqual([call?.name, call?.arguments], ['cancel', { id: 'K1' }])

// The flow: discover the agent, talk to it, run its tool calls here, score, and measure each request.
const server = await createServer({ agents: [createGoldenAgent(kestrel)] })
const listening = await listen(server, { host: '127.0.0.1', port: 0 })
const { simulations } = await runEvaluation({
  agent: { endpoint: listening.url },
  domain: kestrel,
  numTasks: 1,
})
await listening.close()
const [simulation] = simulations
if (!simulation) throw new Error('One task was run')
const metrics = toMetricsDocument(simulation.task_id, simulation.protocol_metrics)
console.log(metrics.agent_type, metrics.summary.total_requests, metrics.summary.error_count)
equal(metrics.protocol_metrics.length, metrics.summary.total_requests)
