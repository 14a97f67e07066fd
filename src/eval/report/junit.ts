import type { EvalResults } from '../results/results.ts'
import type { Simulation } from '../results/simulation.ts'
import { outcomeOf, type SimulationOutcome } from './words.ts'

/**
 * Writes a run as JUnit XML: a case per simulation; a failed task is a failure, infrastructure an error, unscored
 * skipped.
 */
export function toJUnit(results: EvalResults): string {
  const { simulations, info } = results
  const cases = simulations.map((one) => toCase(one, info.environment_info.domain_name))
  const outcomes = simulations.map((one) => elements[outcomeOf(one)])
  const count = (kind: string): number => outcomes.filter((one) => one === kind).length
  const seconds = simulations.reduce((sum, { duration }) => sum + duration, 0).toFixed(3)
  const name = escapeXml(`${info.environment_info.domain_name}: ${info.agent_info.name}`)
  const counts = `tests="${simulations.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}" time="${seconds}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${name}" timestamp="${results.timestamp}" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

const elements: Readonly<Record<SimulationOutcome, string>> = {
  passed: 'passed',
  failed: 'failure',
  unscored: 'skipped',
  infrastructure: 'error',
}

function toCase(simulation: Simulation, domain: string): string {
  const { task_id, trial, duration, reward_info, termination_reason, error } = simulation
  const head = `    <testcase classname="${escapeXml(domain)}" name="${escapeXml(`${task_id} #${trial + 1}`)}" time="${duration.toFixed(3)}"`
  const outcome = elements[outcomeOf(simulation)]
  if (outcome === 'passed') return `${head}/>`
  const why = error ?? reward_info.info.note ?? JSON.stringify(reward_info.reward_breakdown)
  const body = `<${outcome} message="${escapeXml(`${termination_reason}: ${why}`)}"/>`
  return `${head}>${body}</testcase>`
}

/** Text as XML takes it: characters that XML forbids are left out. */
function escapeXml(text: string): string {
  const allowed = [...text].filter((char) => char >= ' ' || char === '\n' || char === '\t').join('')
  return allowed
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
