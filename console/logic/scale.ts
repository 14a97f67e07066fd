/** A stretch of time, in milliseconds since the epoch. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A stretch in which nobody worked, drawn as a tick; its ends as parts of the width. */
interface Gap extends Span {
  readonly left: number
  readonly right: number
}

/** A moment of work with its label. */
interface Tick {
  readonly at: number
  /** Milliseconds of work since the beginning, gaps left out. */
  readonly workMs: number
}

/** Where moments stand on a line from 0 to 1 whose idle stretches are squeezed. */
export interface Scale {
  readonly gaps: readonly Gap[]
  readonly workMs: number
  place(moment: number): number
  ticks(count: number): readonly Tick[]
}

/** As much of the width as a gap takes, whatever its length, and as much as all gaps together may. */
const gapWidth = 0.05
const allGaps = 0.3

/** Makes the scale of work; stretches longer than a tenth of the work, and than two seconds, are squeezed. */
export function createScale(work: readonly Span[]): Scale {
  const busy = merged(work)
  const busyMs = busy.reduce((sum, { from, to }) => sum + to - from, 0)
  const shortest = Math.max(2_000, busyMs / 10)
  const pieces = withGaps(busy, shortest)
  const gapCount = pieces.filter(({ gap }) => gap).length
  const perGap = Math.min(gapWidth, allGaps / Math.max(gapCount, 1))
  const workMs = pieces.reduce((sum, { from, to, gap }) => sum + (gap ? 0 : to - from), 0)
  const perMs = (1 - perGap * gapCount) / Math.max(workMs, 1)
  let [left, done] = [0, 0]
  const placed = pieces.map(({ from, to, gap }) => {
    const piece = { from, to, gap, left, right: left + (gap ? perGap : (to - from) * perMs), done }
    left = piece.right
    if (!gap) done += to - from
    return piece
  })
  const place = (moment: number): number => {
    const piece = placed.find(({ to }) => moment <= to) ?? placed.at(-1)
    if (!piece) return 0
    const part = (moment - piece.from) / Math.max(piece.to - piece.from, 1)
    return piece.left + Math.min(Math.max(part, 0), 1) * (piece.right - piece.left)
  }
  return {
    gaps: placed.filter(({ gap }) => gap),
    workMs,
    place,
    ticks(count) {
      const step = niceStep(workMs / Math.max(count, 1))
      return Array.from({ length: Math.floor(workMs / step) + 1 }, (_, i) => {
        const piece = placed.find((one) => !one.gap && one.done + one.to - one.from >= i * step)
        const at = piece ? piece.left + (i * step - piece.done) * perMs : 0
        return { at, workMs: i * step }
      })
    },
  }
}

function merged(work: readonly Span[]): Span[] {
  const spans: { from: number; to: number }[] = []
  for (const { from, to } of [...work].sort((a, b) => a.from - b.from)) {
    const last = spans.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else spans.push({ from, to })
  }
  return spans
}

/** Work and gaps in order; what is too short for a gap counts as work. */
function withGaps(busy: readonly Span[], shortest: number): (Span & { readonly gap: boolean })[] {
  const pieces: { from: number; to: number; gap: boolean }[] = []
  for (const { from, to } of busy) {
    const last = pieces.at(-1)
    if (last && from - last.to > shortest) {
      pieces.push({ from: last.to, to: from, gap: true }, { from, to, gap: false })
    } else if (last) last.to = to
    else pieces.push({ from, to, gap: false })
  }
  return pieces
}

/** 1, 2 or 5 times a power of ten, at least a millisecond. */
function niceStep(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(ms, 1)))
  const factor = [1, 2, 5, 10].find((one) => one * power >= ms) ?? 10
  return factor * power
}
