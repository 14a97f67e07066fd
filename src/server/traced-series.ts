import { dollars, seconds, tokenCounts } from './histogram.ts'
import { createSeries } from './series.ts'

/** What the traces of tasks tell: how long members of teams took, and what they and models used and cost. */
interface TracedSeries {
  /** Counts an entry of a trace, where it tells such a thing. */
  take(entry: TracedEntry): void
  lines(): readonly string[]
}

/** What is read of an entry of the trace. */
interface TracedEntry {
  readonly type?: unknown
  readonly member?: unknown
  readonly agent?: unknown
  readonly durationMs?: unknown
  readonly inputTokens?: unknown
  readonly outputTokens?: unknown
  readonly costUsd?: unknown
}

/** Makes such series, without a value yet. */
export function createTracedSeries(): TracedSeries {
  const members = createSeries({
    name: 'corral_member_call_seconds',
    help: 'Calls of the members of teams by their outcome.',
    labels: ['member', 'outcome'],
    bounds: seconds,
  })
  const tokens = createSeries({
    name: 'corral_tokens',
    help: 'Tokens of one answer, by who told them (a model, or a member with all that it asked) and by direction.',
    labels: ['source', 'direction'],
    bounds: tokenCounts,
  })
  const costs = createSeries({
    name: 'corral_cost_usd',
    help: 'What answers cost in US dollars, by who told it (a model, or a member with all that it asked) and by its name.',
    labels: ['source', 'name'],
    bounds: dollars,
  })

  function take(entry: TracedEntry): void {
    const { type, member, agent, durationMs, inputTokens, outputTokens, costUsd } = entry
    const isCall = type === 'reply' || type === 'failure'
    if (!isCall && type !== 'model') return
    if (isCall && typeof member === 'string' && typeof durationMs === 'number')
      members.observe(durationMs / 1000, member, type === 'reply' ? 'ok' : 'failed')
    const source = isCall ? 'member' : 'model'
    if (typeof inputTokens === 'number') tokens.observe(inputTokens, source, 'input')
    if (typeof outputTokens === 'number') tokens.observe(outputTokens, source, 'output')
    const name = isCall ? member : agent
    if (typeof costUsd === 'number' && typeof name === 'string')
      costs.observe(costUsd, source, name)
  }

  return {
    take,
    lines: () => [members, tokens, costs].flatMap((series) => series.lines()),
  }
}
