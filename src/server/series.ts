import { Histogram } from './histogram.ts'

/** One metric in several series, by their labels. */
interface Series {
  /** Counts a value in the series of these labels, in the order of their names. */
  observe(value: number, first: string, second?: string): void
  /** The lines of all series, the metric's own before them; none where nothing was counted. */
  lines(): readonly string[]
}

/** What a metric is. */
interface SeriesOptions {
  readonly name: string
  readonly help: string
  /** One or two names. */
  readonly labels: readonly [string] | readonly [string, string]
  readonly bounds: readonly number[]
}

/** Names beyond this many are counted together: a label is no place for what strangers make up. */
const maxSeries = 200
const others = 'other'

/** Makes a metric without series; each is made with its first value. */
export function createSeries({ name, help, labels, bounds }: SeriesOptions): Series {
  const all = new Map<string, Map<string, Histogram>>()
  let count = 0

  function make(first: string, second: string): Histogram {
    if (count >= maxSeries && first !== others) return find(others, others)
    const seconds = all.get(first) ?? new Map<string, Histogram>()
    all.set(first, seconds)
    const fresh = new Histogram(bounds)
    seconds.set(second, fresh)
    count++
    return fresh
  }

  function find(first: string, second: string): Histogram {
    return all.get(first)?.get(second) ?? make(first, second)
  }

  return {
    observe: (value, first, second = '') => find(first, second).observe(value),
    lines() {
      if (count === 0) return []
      const [firstName, secondName] = labels
      const lines = [...metricHead(name, help, 'histogram')]
      for (const [first, seconds] of all)
        for (const [second, histogram] of seconds) {
          const pair = secondName === undefined ? '' : `,${secondName}="${escaped(second)}"`
          lines.push(...histogram.lines(name, `${firstName}="${escaped(first)}"${pair}`))
        }
      return lines
    },
  }
}

/** What goes before the samples of a metric. */
export function metricHead(name: string, help: string, type: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

/** A label's value as the text format writes it. */
export function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
