import { escapeHtml } from './markup.ts'

/** A bar: its label, and its values from the bottom up. */
interface Bar {
  readonly label: string
  readonly values: readonly number[]
}

/** A chart of bars. */
interface BarChart {
  readonly title: string
  /** Names of the values of each bar, from the bottom up. */
  readonly series: readonly string[]
  readonly bars: readonly Bar[]
  readonly unit: string
  /** Whether there is room to write a label under each bar. */
  readonly labelled?: boolean
}

const width = 720
const height = 200
const left = 56
const bottom = 26

/** Bars as inline SVG, with a scale and a tooltip for each. */
export function barChart({ title, series, bars, unit, labelled = false }: BarChart): string {
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

/** Latencies in buckets that double, so that slow outliers and fast answers both show. */
export function latencyBars(latencies: readonly number[]): readonly Bar[] {
  if (latencies.length === 0) return []
  const bucketOf = (ms: number): number => Math.max(0, Math.ceil(Math.log2(Math.max(ms, 1))))
  const buckets = latencies.map(bucketOf)
  const [from, to] = [Math.min(...buckets), Math.max(...buckets)]
  return Array.from({ length: to - from + 1 }, (_, i) => ({
    label: `≤${shortMs(2 ** (from + i))}`,
    values: [buckets.filter((bucket) => bucket === from + i).length],
  }))
}

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

function scale(top: number, unit: string): string {
  return [0, 0.5, 1]
    .map((share) => {
      const y = height - bottom - share * (height - bottom - 10)
      const line = `<line class="grid" x1="${left}" x2="${width}" y1="${fix(y)}" y2="${fix(y)}"/>`
      return line + text(left - 6, y + 4, `${top * share}${share === 1 ? ` ${unit}` : ''}`, 'end')
    })
    .join('')
}

function text(x: number, y: number, words: string, anchor: string): string {
  return `<text x="${fix(x)}" y="${fix(y)}" text-anchor="${anchor}">${escapeHtml(words)}</text>`
}

/** The next number of the form 1, 2 or 5 times a power of ten. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power
}

function shortMs(ms: number): string {
  return ms >= 1000 ? `${(ms / 1000).toFixed(ms >= 10_000 ? 0 : 1)} s` : `${ms} ms`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function fix(value: number): string {
  return String(Number(value.toFixed(2)))
}
