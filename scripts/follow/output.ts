/** Holds what a command printed against what a page shows. */

/** The first line that is not there after those before it; undefined where all are. */
export function missingLine(output: string, expected: readonly string[]): string | undefined {
  const printed = output.split('\n').map(withoutColours)
  let from = 0
  for (const line of expected) {
    const wanted = line.trimEnd()
    if (wanted === '' || wanted.trim() === '…') continue
    const at = printed.findIndex((one, index) => index >= from && fits(one.trimEnd(), wanted))
    if (at < 0) return line
    from = at + 1
  }
  return undefined
}

/** Whether a line is the wanted one, in which `…` stands for anything. */
function fits(line: string, wanted: string): boolean {
  const [first = '', ...others] = wanted.split('…')
  if (others.length === 0) return line === wanted
  const last = others.pop() ?? ''
  if (!line.startsWith(first)) return false
  let at = first.length
  for (const piece of others) {
    const found = line.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return line.length - last.length >= at && line.endsWith(last)
}

function withoutColours(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what begins a colour.
  return line.replace(/\u001b\[[\d;]*m/g, '').replace(/\r$/, '')
}
