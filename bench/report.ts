import type { Case, Finding } from './case.ts'

/** A case with what it showed: a row of the report. */
export interface Row extends Omit<Case, 'run'>, Finding {
  /** Whether the bar is met and every answer was right. */
  readonly met: boolean
}

/** Puts a finding beside its bar. */
export function toRow({ name, title, bar, unit }: Case, finding: Finding): Row {
  const met = finding.ratio <= bar && (finding.failed ?? 0) === 0
  return { name, title, ratio: round(finding.ratio), bar, unit, met, ...rounded(finding) }
}

/** A row as a line of text. */
export function toLine({ title, ratio, bar, unit, peerRatio, met, failed, note }: Row): string {
  const peer = peerRatio === undefined ? '' : `(peer ${peerRatio})`
  const said = note === undefined ? '' : `(${note})`
  const wrong = failed ? `, ${failed} WRONG ANSWERS` : ''
  const mark = met ? '✓' : '✗'
  return `${mark} ${title.padEnd(50)} ${String(ratio).padStart(7)}  ≤ ${String(bar).padEnd(5)}${unit} ${peer}${said}${wrong}`
}

function rounded({ peerRatio, failed, note, details }: Finding): Omit<Finding, 'ratio'> {
  return {
    ...(peerRatio !== undefined && { peerRatio: round(peerRatio) }),
    ...(failed !== undefined && { failed }),
    ...(note !== undefined && { note }),
    details: JSON.parse(JSON.stringify(details), (_, value) =>
      typeof value === 'number' ? round(value) : value,
    ),
  }
}

/** Three digits say all that a shared machine can. */
function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}
