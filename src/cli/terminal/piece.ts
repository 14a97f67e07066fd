/** How text looks on a terminal that shows it. */
export interface TextStyle {
  readonly bold?: boolean
  readonly dim?: boolean
  readonly italic?: boolean
  readonly underline?: boolean
  /** One of the 256 colours. */
  readonly colour?: number
}

/** Text with a style. */
export interface Styled {
  readonly text: string
  readonly style: TextStyle
}

/** Text, or text with a style. */
export type Piece = string | Styled

/** Dims what is not the answer itself, on terminals that show it and where NO_COLOR does not forbid it. */
export function dim(text: string): Piece {
  return { text, style: { dim: true } }
}

/** A member's words in its colour: the same for the same id, wherever it appears. */
export function inColourOf(id: string, text: string = id): Styled {
  return { text, style: { colour: colourOf(id) } }
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

/** Tones that stand out from a dark and from a light background alike; no red, which looks like an error. */
const colours = [33, 31, 64, 97, 130, 132, 68, 172, 99, 71, 169, 66] as const

function colourOf(id: string): number {
  let sum = 7
  for (let i = 0; i < id.length; i++) sum = (sum * 31 + id.charCodeAt(i)) >>> 0
  return colours[sum % colours.length] ?? colours[0]
}
