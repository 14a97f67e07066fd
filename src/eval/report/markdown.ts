import type { EvalResults } from '../results/results.ts'
import type { Simulation } from '../results/simulation.ts'
import { headline, outcomeOf, percent } from './words.ts'

/** Writes a run as Markdown, for a pull request or a step summary. */
export function toMarkdown(results: EvalResults): string {
  const { info, summary, simulations } = results
  const { name, endpoint } = info.agent_info
  const passes = Object.entries(summary.pass_hat_k).map(
    ([k, { value, low, high }]) =>
      `| ${k} | ${percent(value)} | ${percent(low)} to ${percent(high)} |`,
  )
  return [
    `# Evaluation of ${escapeCell(name)} on ${escapeCell(info.environment_info.domain_name)}`,
    '',
    `${escapeCell(endpoint)}, ${results.timestamp}, seed ${info.seed}, ${info.num_trials} trial(s)`,
    '',
    '| | |',
    '|---|---|',
    ...headline(results).map(([label, value]) => `| ${label} | ${escapeCell(value)} |`),
    '',
    '| k | pass^k | 95 % interval |',
    '|---|---|---|',
    ...passes,
    '',
    '| task | trial | outcome | ended by | parts | seconds |',
    '|---|---|---|---|---|---|',
    ...simulations.map(toRow),
    ...(summary.unscored_tasks.length > 0
      ? ['', `Unscored: ${summary.unscored_tasks.map(escapeCell).join(', ')}`]
      : []),
    '',
  ].join('\n')
}

function toRow(simulation: Simulation): string {
  const { task_id, trial, termination_reason, reward_info, duration } = simulation
  const parts = Object.entries(reward_info.reward_breakdown)
    .map(([name, value]) => `${name} ${value ?? 'unscored'}`)
    .join(', ')
  const cells = [
    task_id,
    `${trial + 1}`,
    outcomeOf(simulation),
    termination_reason,
    parts,
    `${duration}`,
  ]
  return `| ${cells.map(escapeCell).join(' | ')} |`
}

function escapeCell(text: string): string {
  return text
    .replace(/[\r\n]+/g, ' ')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
}
