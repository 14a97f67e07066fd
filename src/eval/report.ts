import { toPrintable } from '../shared/text.ts'
import { tryParse } from './base.ts'
import { type ConversationMessage, isToolCall } from './domain/domain.ts'
import type { EvalResults } from './results/results.ts'
import { isMeasured, isSuccess, type Simulation } from './results/simulation.ts'
import { reasonsOf } from './scorers/built-in.ts'
import type { RewardInfo, ScoreCheck } from './scorers/scorer.ts'

/** How a report names the outcome of a simulation. */
type SimulationOutcome = 'passed' | 'failed' | 'unscored' | 'infrastructure'

/** The page may load nothing and run nothing: whatever an agent said, it stays text. */
const policy = "default-src 'none'; style-src 'unsafe-inline'"

const style = `
:root { --ink: #1c2024; --quiet: #667085; --line: #d9dee5; --page: #fff; --card: #f6f8fa; --s0: #2f6fdb; --s1: #8fb8f6; --good: #197a41; --bad: #b42318; --odd: #9a6700 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --quiet: #98a2b3; --line: #333b46; --page: #14171c; --card: #1c2128; --s0: #6aa1ff; --s1: #2f5aa3; --good: #5cc98a; --bad: #ff8a7a; --odd: #e3b341 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 960px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
.quiet { color: var(--quiet) } a { color: inherit }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(210px, 1fr)); gap: .6rem; margin: 1rem 0 }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem }
.tiles dt { color: var(--quiet); font-size: .82rem } .tiles dd { margin: 0; font-weight: 600 }
table { border-collapse: collapse; width: 100%; font-size: .9rem } th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--line) } th { color: var(--quiet); font-weight: 500 }
@media (max-width: 700px) { table { display: block; overflow-x: auto } }
figure { margin: 1rem 0; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .6rem } figcaption { font-size: .9rem; margin-bottom: .3rem }
svg { width: 100%; height: auto; display: block } svg text { fill: var(--quiet); font-size: 11px } .grid { stroke: var(--line) }
rect.s0 { fill: var(--s0) } rect.s1 { fill: var(--s1) } .key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .3em 0 .8em } .key.s0 { background: var(--s0) } .key.s1 { background: var(--s1) }
.badge { font-size: .78rem; padding: .1rem .45rem; border-radius: 9px; border: 1px solid; white-space: nowrap } .passed.badge { color: var(--good) } .failed.badge { color: var(--bad) } .unscored.badge, .infrastructure.badge { color: var(--odd) }
.filter { margin: .5rem 0 } .filter label { margin-right: 1rem }
body:has(#only-failed:checked) .sim.passed, body:has(#only-passed:checked) .sim:not(.passed) { display: none }
details.sim { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0 } summary { cursor: pointer; padding: .45rem .7rem } details[open] summary { border-bottom: 1px solid var(--line) }
.checks { list-style: none; margin: .6rem .7rem; padding: 0; font-size: .88rem } .met { color: var(--good) } .unmet { color: var(--bad) } .note { margin: .4rem .7rem; color: var(--odd) }
.talk { list-style: none; margin: .6rem .7rem; padding: 0 } .talk li { border-left: 3px solid var(--line); padding: .2rem .7rem; margin: .45rem 0 } .talk b { font-size: .78rem; color: var(--quiet) } .talk p { margin: .1rem 0; white-space: pre-wrap; overflow-wrap: anywhere }
.talk .assistant { border-color: var(--s0) } .talk .user { border-color: var(--s1) } .talk .bad { border-color: var(--bad) }
pre, code { font: 12.5px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere } pre { margin: .1rem 0; max-height: 14rem; overflow: auto } code { display: block }
`

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

/** Text as HTML takes it, control characters written out. Everything that others wrote passes through here. */
function escapeHtml(text: string): string {
  return toPrintable(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

function tiles(results: EvalResults): string {
  const tile = ([label, value]: readonly [string, string]): string =>
    `<div><dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd></div>`
  return `<dl class="tiles">${headline(results).map(tile).join('')}</dl>`
}

/** Gives the rows of numbers that every report opens with. */
export function headline(results: EvalResults): readonly (readonly [string, string])[] {
  const { summary, info } = results
  const first = summary.pass_hat_k['1']
  const interval = first ? ` (95 %: ${percent(first.low)} to ${percent(first.high)})` : ''
  return [
    [`Score (${info.user_info.implementation} user)`, percent(first?.value ?? null) + interval],
    ['Doing nothing would score', percent(summary.do_nothing.rate)],
    ['Succeeded', `${summary.successes} of ${summary.scored} scored`],
    ...withoutUserFaults(summary),
    ['Faults', faults(summary.faults)],
    ['Requests', `${summary.metrics.total_requests}, ${summary.metrics.error_count} failed`],
    [
      'Latency',
      `p50 ${summary.metrics.p50_latency_ms} ms, p95 ${summary.metrics.p95_latency_ms} ms${lagWords(results)}`,
    ],
    ['Tokens', `${summary.metrics.total_tokens} (${tokenWords(summary.token_sources)})`],
    ['Cost', costWords(summary.cost)],
  ]
}

/** Writes a share as a percentage; a dash where there is none. */
export function percent(share: number | null): string {
  return share === null ? '–' : `${(share * 100).toFixed(1)} %`
}

/** A second score, only where a fault of the simulated user makes it another one. */
function withoutUserFaults({
  faults: { user },
  without_user_faults: without,
}: EvalResults['summary']): readonly (readonly [string, string])[] {
  if (user === 0) return []
  return [['Without faults of the user', `${percent(without.rate)} of ${without.scored}`]]
}

function faults({ agent, user, infrastructure }: EvalResults['summary']['faults']): string {
  return `agent ${agent}, user ${user}, infrastructure ${infrastructure}`
}

function lagWords({ harness_lag: lag }: EvalResults): string {
  return lag ? `; event loop late by p50 ${lag.p50_ms} ms, p95 ${lag.p95_ms} ms` : ''
}

function tokenWords(sources: EvalResults['summary']['token_sources']): string {
  const names = Object.keys(sources)
  return names.length > 0 ? names.join(', ') : 'not counted'
}

function costWords(cost: EvalResults['summary']['cost']): string {
  if (!cost || cost.agent_usd === null) return 'unknown: no price table'
  const each =
    cost.agent_usd_per_success === null ? '' : `, $${cost.agent_usd_per_success} per success`
  return `$${cost.agent_usd}${each}`
}

function passTable(results: EvalResults): string {
  const rows = passRows(results)
  return rows.length > 0
    ? htmlTable(['k', 'all k of k tries succeed', '95 % interval'], rows)
    : '<p>Nothing was scored.</p>'
}

function passRows({ summary }: EvalResults): readonly (readonly string[])[] {
  return Object.entries(summary.pass_hat_k).map(([k, { value, low, high }]) => [
    k,
    percent(value),
    `${percent(low)} to ${percent(high)}`,
  ])
}

/** A table with a head and rows of cells that are markup already. */
function htmlTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]): string =>
    row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')
  const body = rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('\n')
  return `<table><thead><tr>${cells('th', head)}</tr></thead><tbody>\n${body}\n</tbody></table>`
}

function taskTable({ simulations, baseline }: EvalResults): string {
  const idle = new Map(baseline.map(({ task_id, reward }) => [task_id, reward]))
  const rows = simulations.map((one) => {
    const outcome = outcomeOf(one)
    return [
      `<a href="#${escapeHtml(anchor(one))}">${escapeHtml(one.task_id)}</a>`,
      String(one.trial + 1),
      `<span class="badge ${outcome}">${outcome}</span>`,
      escapeHtml(one.termination_reason),
      escapeHtml(partsOf(one)),
      String(idle.get(one.task_id) ?? 'unscored'),
      String(one.metrics_summary.total_requests),
    ]
  })
  return htmlTable(
    ['task', 'trial', 'outcome', 'ended by', 'reward parts', 'doing nothing', 'requests'],
    rows,
  )
}

function partsOf({ reward_info }: Simulation): string {
  return Object.entries(reward_info.reward_breakdown)
    .map(([name, value]) => `${name} ${value ?? 'unscored'}`)
    .join(', ')
}

/** Tells what became of a simulation, for a reader. */
export function outcomeOf(simulation: Simulation): SimulationOutcome {
  const { reward } = simulation.reward_info
  if (!isMeasured(simulation)) return 'infrastructure'
  if (reward === null) return 'unscored'
  return isSuccess(reward) ? 'passed' : 'failed'
}

function anchor({ task_id, trial }: Pick<Simulation, 'task_id' | 'trial'>): string {
  return `sim-${trial + 1}-${task_id.replace(/[^\w-]/g, '_')}`
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

interface BarChart {
  readonly title: string
  /** Names of the values of each bar, from the bottom up. */
  readonly series: readonly string[]
  readonly bars: readonly Bar[]
  readonly unit: string
  /** Whether there is room to write a label under each bar. */
  readonly labelled?: boolean
}

interface Bar {
  readonly label: string
  /** From the bottom up. */
  readonly values: readonly number[]
}

const width = 720
const left = 56
const height = 200

function barChart({ title, series, bars, unit, labelled = false }: BarChart): string {
  const top = niceTop(Math.max(1, ...bars.map(({ values }) => sum(values))))
  const step = (width - left) / Math.max(1, bars.length)
  const drawn = bars.map((bar, index) => drawBar(bar, { x: left + index * step, step, top, unit }))
  const labels = labelled
    ? bars.map(({ label }, i) => text(left + (i + 0.5) * step, height - 8, label, 'middle'))
    : []
  const names = series.map((name, i) => `<span class="key s${i}"></span>${escapeHtml(name)}`)
  return `<figure><figcaption>${escapeHtml(title)} ${names.join(' ')}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(title)}">
${scale(top, unit)}${drawn.join('')}${labels.join('')}
</svg></figure>`
}

/** The next number of the form 1, 2 or 5 times a power of ten. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

const bottom = 26

function drawBar(
  { label, values }: Bar,
  { x, step, top, unit }: { x: number; step: number; top: number; unit: string },
): string {
  const gap = Math.min(4, step * 0.2)
  let y = height - bottom
  const pieces = values.map((value, index) => {
    const tall = (value / top) * (height - bottom - 10)
    y -= tall
    return `<rect class="s${index}" x="${fix(x + gap / 2)}" y="${fix(y)}" width="${fix(step - gap)}" height="${fix(tall)}"/>`
  })
  const words = `${label}: ${values.join(' + ')} ${unit}`
  return `<g><title>${escapeHtml(words)}</title>${pieces.join('')}</g>`
}

function fix(value: number): string {
  return String(Number(value.toFixed(2)))
}

function text(x: number, y: number, words: string, anchor: string): string {
  return `<text x="${fix(x)}" y="${fix(y)}" text-anchor="${anchor}">${escapeHtml(words)}</text>`
}

function scale(top: number, unit: string): string {
  return [0, 0.5, 1]
    .map((share) => {
      const y = height - bottom - share * (height - bottom - 10)
      const line = `<line class="grid" x1="${left}" x2="${width}" y1="${fix(y)}" y2="${fix(y)}"/>`
      return line + text(left - 6, y + 4, `${top * share}${share === 1 ? ` ${unit}` : ''}`, 'end')
    })
    .join('')
}

/** Latencies in buckets that double, so that slow outliers and fast answers both show. */
function latencyBars(latencies: readonly number[]): readonly Bar[] {
  if (latencies.length === 0) return []
  const bucketOf = (ms: number): number => Math.max(0, Math.ceil(Math.log2(Math.max(ms, 1))))
  const buckets = latencies.map(bucketOf)
  const [from, to] = [Math.min(...buckets), Math.max(...buckets)]
  return Array.from({ length: to - from + 1 }, (_, i) => ({
    label: `≤${shortMs(2 ** (from + i))}`,
    values: [buckets.filter((bucket) => bucket === from + i).length],
  }))
}

function shortMs(ms: number): string {
  return ms >= 1000 ? `${(ms / 1000).toFixed(ms >= 10_000 ? 0 : 1)} s` : `${ms} ms`
}

function tokensOf({ protocol_metrics }: Simulation): readonly [number, number] {
  return [
    sum(protocol_metrics.map((record) => record.input_tokens ?? 0)),
    sum(protocol_metrics.map((record) => record.output_tokens ?? 0)),
  ]
}

/** One simulation to open and read: what was said, what was called, and what the score is made of. */
function transcript(simulation: Simulation): string {
  const { task_id, trial, termination_reason, duration, messages, error } = simulation
  const outcome = outcomeOf(simulation)
  const notes = [
    error,
    simulation.reward_info.info.note,
    ...simulation.warnings,
    ...simulation.retries,
  ]
    .filter((note) => note !== undefined)
    .map((note) => `<p class="note">${escapeHtml(note)}</p>`)
  return `<details class="sim ${outcome}" id="${escapeHtml(anchor(simulation))}">
<summary><span class="badge ${outcome}">${outcome}</span> <b>${escapeHtml(task_id)}</b> trial ${trial + 1}
<span class="quiet">${escapeHtml(termination_reason)}, ${messages.length} messages, ${duration} s, ${simulation.metrics_summary.total_tokens} tokens</span></summary>
${parts(simulation.reward_info)}${notes.join('')}
<ol class="talk">${messages.map(line).join('\n')}</ol>
</details>`
}

function parts(info: RewardInfo): string {
  const checks = reasonsOf(info).map(check)
  return checks.length > 0 ? `<ul class="checks">${checks.join('')}</ul>` : ''
}

function check({ what, met, why }: ScoreCheck): string {
  const words = why === undefined ? what : `${what}: ${why}`
  return `<li class="${met ? 'met' : 'unmet'}">${met ? '✓' : '✗'} ${escapeHtml(words)}</li>`
}

function line(message: ConversationMessage): string {
  if (message.role === 'tool')
    return `<li class="tool${message.error ? ' bad' : ''}"><b>${escapeHtml(message.name ?? 'tool')}</b><pre>${escapeHtml(pretty(message.content))}</pre></li>`
  const said = message.content ? `<p>${escapeHtml(message.content)}</p>` : ''
  const calls = isToolCall(message)
    ? (message.tool_calls ?? []).map(
        ({ name, arguments: args }) =>
          `<code>${escapeHtml(`${name}(${JSON.stringify(args)})`)}</code>`,
      )
    : []
  return `<li class="${message.role}"><b>${message.role === 'user' ? 'user' : 'agent'}</b>${said}${calls.join('')}</li>`
}

function pretty(content: string): string {
  const value = tryParse(content)
  return value === undefined ? content : JSON.stringify(value, null, 1)
}

/** Writes a run as Markdown, for a pull request or a step summary. */
export function toMarkdown(results: EvalResults): string {
  const { info, summary, simulations } = results
  const { name, endpoint } = info.agent_info
  return [
    `# Evaluation of ${escapeCell(name)} on ${escapeCell(info.environment_info.domain_name)}`,
    '',
    `${escapeCell(endpoint)}, ${results.timestamp}, seed ${info.seed}, ${info.num_trials} trial(s)`,
    '',
    '| | |',
    '|---|---|',
    ...headline(results).map(toRow),
    '',
    '| k | pass^k | 95 % interval |',
    '|---|---|---|',
    ...passRows(results).map(toRow),
    '',
    '| task | trial | outcome | ended by | parts | seconds |',
    '|---|---|---|---|---|---|',
    ...simulations.map(cellsOf).map(toRow),
    ...(summary.unscored_tasks.length > 0
      ? ['', `Unscored: ${summary.unscored_tasks.map(escapeCell).join(', ')}`]
      : []),
    '',
  ].join('\n')
}

function escapeCell(text: string): string {
  return toPrintable(text)
    .replace(/[\r\n]+/g, ' ')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
}

function toRow(cells: readonly string[]): string {
  return `| ${cells.map(escapeCell).join(' | ')} |`
}

function cellsOf(simulation: Simulation): readonly string[] {
  const { task_id, trial, termination_reason, duration } = simulation
  const [outcome, parts] = [outcomeOf(simulation), partsOf(simulation)]
  return [task_id, `${trial + 1}`, outcome, termination_reason, parts, `${duration}`]
}

const elements: Readonly<Record<SimulationOutcome, string>> = {
  passed: 'passed',
  failed: 'failure',
  unscored: 'skipped',
  infrastructure: 'error',
}

/**
 * Writes a run as JUnit XML: a case per simulation; a failed task is a failure, infrastructure an error, unscored
 * skipped.
 */
export function toJUnit(results: EvalResults): string {
  const { simulations, info } = results
  const cases = simulations.map((one) => toCase(one, info.environment_info.domain_name))
  const outcomes = simulations.map((one) => elements[outcomeOf(one)])
  const count = (kind: string): number => outcomes.filter((one) => one === kind).length
  const seconds = sum(simulations.map(({ duration }) => duration)).toFixed(3)
  const name = escapeHtml(`${info.environment_info.domain_name}: ${info.agent_info.name}`)
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

function toCase(simulation: Simulation, domain: string): string {
  const { task_id, trial, duration, reward_info, termination_reason, error } = simulation
  const head = `    <testcase classname="${escapeHtml(domain)}" name="${escapeHtml(`${task_id} #${trial + 1}`)}" time="${duration.toFixed(3)}"`
  const outcome = elements[outcomeOf(simulation)]
  if (outcome === 'passed') return `${head}/>`
  const why = error ?? reward_info.info.note ?? JSON.stringify(reward_info.reward_breakdown)
  const body = `<${outcome} message="${escapeHtml(`${termination_reason}: ${why}`)}"/>`
  return `${head}>${body}</testcase>`
}
