import { toPrintableLine } from '../../shared/text.ts'

/** Text, or text with a style. */
export type Piece = string | Styled

/** Text with a style. */
export interface Styled {
  readonly text: string
  readonly style: TextStyle
}

/** How text looks on a terminal that shows it. */
export interface TextStyle {
  readonly bold?: boolean
  readonly dim?: boolean
  readonly italic?: boolean
  readonly underline?: boolean
  /** One of the 256 colours. */
  readonly colour?: number
}

/** Dims what is not the answer itself, on terminals that show it and where NO_COLOR does not forbid it. */
export function dim(text: string): Piece {
  return { text, style: { dim: true } }
}

/** A member's words in its colour: the same for the same id, wherever it appears. */
export function inColourOf(id: string, text: string = id): Styled {
  return { text, style: { colour: colourOf(id) } }
}

/** Tones that stand out from a dark and from a light background alike; no red, which looks like an error. */
const colours = [33, 31, 64, 97, 130, 132, 68, 172, 99, 71, 169, 66] as const

function colourOf(id: string): number {
  let sum = 7
  for (let i = 0; i < id.length; i++) sum = (sum * 31 + id.charCodeAt(i)) >>> 0
  return colours[sum % colours.length] ?? colours[0]
}

/** The codes that begin and end a style; both empty where it is plain. */
export function codesOf({
  bold,
  dim,
  italic,
  underline,
  colour,
}: TextStyle): readonly [string, string] {
  const on = [bold && 1, dim && 2, italic && 3, underline && 4].filter(Boolean).join(';')
  const off = [(bold || dim) && 22, italic && 23, underline && 24].filter(Boolean).join(';')
  const [paint, bare] = colour === undefined ? ['', ''] : [code(`38;5;${colour}`), code('39')]
  return [`${on && code(on)}${paint}`, `${bare}${off && code(off)}`]
}

function code(numbers: string): string {
  return `\u001b[${numbers}m`
}

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

function countText(count: number): string {
  return Math.round(count).toLocaleString('en-US')
}

/** A cost as `$1.20` or `$0.00123`: cents, and of less than a dollar three digits that say something; empty where nobody knows. */
export function costText(usd: number | undefined): string {
  if (usd === undefined) return ''
  const digits = { minimumFractionDigits: 2, ...(usd < 1 && { maximumSignificantDigits: 3 }) }
  return `$${usd.toLocaleString('en-US', { maximumFractionDigits: 2, ...digits })}`
}

const units: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
]

/** How long ago something was, in its largest unit: `40 s`, `5 min`, `3 h`, `2 d`. */
export function ageText(ms: number): string {
  const [size, name] = units.find(([size]) => ms >= size) ?? [1_000, 's']
  return `${Math.max(0, Math.floor(ms / size))} ${name}`
}

/** As much of a text as a line can show. */
const longest = 400

/** How a text begins, as words on one line: without marks of markdown, each gap one space. */
export function toFirstWords(text: string): string {
  const start = text.slice(0, longest).replace(/[*`]|^#{1,6} /g, '')
  return toPrintableLine(start.trim().replace(/\s+/g, ' '))
}
