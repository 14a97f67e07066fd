import type { EvalResults } from '../results/results.ts'
import type { Simulation } from '../results/simulation.ts'
import { barChart, latencyBars } from './chart.ts'
import { escapeHtml, htmlTable, style } from './markup.ts'
import { anchor, transcript } from './transcript.ts'
import { headline, outcomeOf, percent } from './words.ts'

/** The page may load nothing and run nothing: whatever an agent said, it stays text. */
const policy = "default-src 'none'; style-src 'unsafe-inline'"

/** Writes a run as one HTML file: scores, the parts of each reward, charts, and every conversation to read. */
export function toHtml(results: EvalResults): string {
  const { info, simulations } = results
  const title = `${info.agent_info.name} on ${info.environment_info.domain_name}`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><h1>${escapeHtml(title)}</h1>
<p class="quiet">${escapeHtml(`${info.agent_info.endpoint}, ${results.timestamp}, seed ${info.seed}, ${info.num_trials} trial(s)`)}</p>
${tiles(results)}
<h2>pass^k</h2>
${passTable(results)}
<h2>Tasks</h2>
${taskTable(results)}
<h2>Latency and tokens</h2>
${charts(results)}
<h2>Conversations</h2>
<p class="filter"><label><input type="radio" name="show" id="only-all" checked> all</label><label><input type="radio" name="show" id="only-failed"> not passed</label><label><input type="radio" name="show" id="only-passed"> passed</label></p>
${simulations.map(transcript).join('\n')}
</body></html>
`
}

function tiles(results: EvalResults): string {
  const tile = ([label, value]: readonly [string, string]): string =>
    `<div><dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd></div>`
  return `<dl class="tiles">${headline(results).map(tile).join('')}</dl>`
}

function passTable({ summary }: EvalResults): string {
  const rows = Object.entries(summary.pass_hat_k).map(([k, { value, low, high }]) => [
    k,
    percent(value),
    `${percent(low)} to ${percent(high)}`,
  ])
  return rows.length > 0
    ? htmlTable(['k', 'all k of k tries succeed', '95 % interval'], rows)
    : '<p>Nothing was scored.</p>'
}

function taskTable({ simulations, baseline }: EvalResults): string {
  const idle = new Map(baseline.map(({ task_id, reward }) => [task_id, reward]))
  const rows = simulations.map((one) => {
    const outcome = outcomeOf(one)
    const parts = Object.entries(one.reward_info.reward_breakdown)
      .map(([name, value]) => `${name} ${value ?? 'unscored'}`)
      .join(', ')
    return [
      `<a href="#${escapeHtml(anchor(one))}">${escapeHtml(one.task_id)}</a>`,
      String(one.trial + 1),
      `<span class="badge ${outcome}">${outcome}</span>`,
      escapeHtml(one.termination_reason),
      escapeHtml(parts),
      String(idle.get(one.task_id) ?? 'unscored'),
      String(one.metrics_summary.total_requests),
    ]
  })
  return htmlTable(
    ['task', 'trial', 'outcome', 'ended by', 'reward parts', 'doing nothing', 'requests'],
    rows,
  )
}

function charts({ simulations }: EvalResults): string {
  const records = simulations.flatMap((one) => one.protocol_metrics)
  const latency = barChart({
    title: 'Latency of requests',
    series: ['requests'],
    bars: latencyBars(records.map((record) => record.latency_ms)),
    unit: 'req',
    labelled: true,
  })
  const tokens = barChart({
    title: 'Tokens per simulation',
    series: ['in', 'out'],
    bars: simulations.map((one) => ({ label: one.task_id, values: tokensOf(one) })),
    unit: 'tok',
  })
  return `${latency}\n${tokens}`
}

function tokensOf({ protocol_metrics }: Simulation): readonly [number, number] {
  const total = (key: 'input_tokens' | 'output_tokens'): number =>
    protocol_metrics.reduce((sum, record) => sum + (record[key] ?? 0), 0)
  return [total('input_tokens'), total('output_tokens')]
}
