import type { Row } from './report.ts'

const width = 760
const left = 310
const rowHeight = 44
const top = 56

/**
 * The multiples of the floor as an SVG: Corral and the peer beside each other, on a logarithmic scale, since one is a
 * little above 1 and the other a hundred times it. A tick marks the bar. Readable on light and dark pages.
 */
export function toChart(rows: readonly Row[]): string {
  const shown = rows.filter((row) => row.unit.startsWith('× floor CPU'))
  const most = Math.max(10, ...shown.map((row) => Math.max(row.peerRatio ?? 0, row.ratio)))
  const scale = (value: number): number =>
    (Math.log10(Math.max(value, 1)) / Math.log10(most)) * (width - left - 60)
  const height = top + shown.length * rowHeight + 16
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="CPU per request as a multiple of bare node:http">
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 11px; fill: #59636e }
.corral { fill: #1a7f64 } .peer { fill: #b9bfc6 } .bar { stroke: #cf222e; stroke-width: 2 } .axis { stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 }
  .corral { fill: #3fb68f } .peer { fill: #59636e } .bar { stroke: #ff7b72 } .axis { stroke: #3d444d }
}
</style>
<text x="8" y="20">CPU per request ÷ bare node:http answering the same bytes (logarithmic, less is better)</text>
${legend()}
<line class="axis" x1="${left}" y1="${top - 8}" x2="${left}" y2="${height - 8}"/>
${shown.map((row, i) => group(row, top + i * rowHeight, scale)).join('\n')}
</svg>
`
}

function legend(): string {
  return `<rect class="corral" x="8" y="30" width="12" height="10"/><text class="small" x="26" y="39">Corral</text>
<rect class="peer" x="78" y="30" width="12" height="10"/><text class="small" x="96" y="39">@a2a-js/sdk</text>
<line class="bar" x1="178" y1="29" x2="178" y2="41"/><text class="small" x="186" y="39">our bar</text>`
}

function group({ title, ratio, peerRatio, bar }: Row, y: number, scale: Scale): string {
  const mark = left + scale(bar)
  return [
    `<text x="8" y="${y + 17}">${escapeText(title)}</text>`,
    line('corral', y, { value: ratio, length: scale(ratio), clear: scale(bar) }),
    peerRatio === undefined
      ? ''
      : line('peer', y + 15, { value: peerRatio, length: scale(peerRatio), clear: 0 }),
    `<line class="bar" x1="${mark}" y1="${y - 1}" x2="${mark}" y2="${y + 14}"/>`,
  ].join('')
}

type Scale = (value: number) => number

interface Line {
  readonly value: number
  readonly length: number
  /** The number stands to the right of this, so that the bar's tick does not cross it. */
  readonly clear: number
}

function line(name: string, y: number, { value, length, clear }: Line): string {
  const words = left + Math.max(length, clear) + 8
  return `<rect class="${name}" x="${left}" y="${y}" width="${Math.max(1, length).toFixed(1)}" height="13"/><text class="small" x="${words.toFixed(1)}" y="${y + 11}">${value}×</text>`
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
