/** A piece of a JSON text, by what it is. */
interface JsonToken {
  readonly kind: 'key' | 'string' | 'number' | 'word' | 'mark'
  readonly text: string
}

/** As much text as is shown; what follows is named. */
const longest = 60_000

/** The JSON text of a value, indented by two, in pieces. */
export function toJsonTokens(value: unknown): readonly JsonToken[] {
  const whole = JSON.stringify(value, undefined, 2) ?? 'undefined'
  const text = whole.slice(0, longest)
  const tokens: JsonToken[] = []
  const pieces = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)/g
  let end = 0
  for (const match of text.matchAll(pieces)) {
    if (match.index > end) tokens.push({ kind: 'mark', text: text.slice(end, match.index) })
    const [all, string, colon = '', number] = match
    if (string && colon) {
      tokens.push({ kind: 'key', text: string }, { kind: 'mark', text: colon })
    } else tokens.push({ kind: string ? 'string' : number ? 'number' : 'word', text: all })
    end = match.index + all.length
  }
  if (end < text.length) tokens.push({ kind: 'mark', text: text.slice(end) })
  const left = whole.length - text.length
  if (left > 0)
    tokens.push({ kind: 'mark', text: `\n… ${left.toLocaleString('en')} more characters` })
  return tokens
}
