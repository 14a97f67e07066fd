/** A duration as people read it: `340 ms`, `2.1 s`, `3 min 5 s`; empty where nobody knows. */
export function durationText(ms: number | undefined): string {
  if (ms === undefined) return ''
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** Tokens in and out, as `812 → 94`; empty where nobody counted. */
export function tokensText(input: number | undefined, output: number | undefined): string {
  if (input === undefined && output === undefined) return ''
  return `${countText(input ?? 0)} → ${countText(output ?? 0)}`
}

/** A cost as `$1.20` or `$0.00123`: cents, and of less than a dollar three digits that say something; empty where nobody knows. */
export function costText(usd: number | undefined): string {
  if (usd === undefined) return ''
  const digits = { minimumFractionDigits: 2, ...(usd < 1 && { maximumSignificantDigits: 3 }) }
  return `$${usd.toLocaleString('en-US', { maximumFractionDigits: 2, ...digits })}`
}

/** How long ago something was, in its largest unit: `40 s`, `5 min`, `3 h`, `2 d`. */
export function ageText(ms: number): string {
  const [size, name] = units.find(([size]) => ms >= size) ?? [1_000, 's']
  return `${Math.max(0, Math.floor(ms / size))} ${name}`
}

const units: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
]

function countText(count: number): string {
  return Math.round(count).toLocaleString('en-US')
}
