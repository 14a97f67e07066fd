import { widthOf } from '../../src/cli/terminal/width.ts'

/**
 * A terminal for tests: it knows the few codes that our command may send, and shows what a person would see at the end.
 * A code that it does not know is a fault.
 */
export function screenAfter(output: string, columns: number): string[] {
  const terminal = new Terminal(columns)
  for (const token of tokensOf(output)) terminal.take(token)
  return terminal.lines()
}

class Terminal {
  readonly #columns: number
  readonly #rows: string[][] = [[]]
  #row = 0
  #column = 0

  constructor(columns: number) {
    this.#columns = columns
  }

  lines(): string[] {
    return this.#rows.map((row) => row.join('').trimEnd())
  }

  take(token: string): void {
    if (token === '\r') this.#column = 0
    else if (token === '\n') this.#breakLine()
    else if (token.startsWith('\u001b')) this.#obey(token)
    else this.#print(token)
  }

  #obey(token: string): void {
    const [, digits = '', name = ''] = code.exec(token) ?? []
    const count = Number.parseInt(digits, 10) || 0
    if (name === 'A') this.#row = Math.max(0, this.#row - (count || 1))
    else if (name === 'G') this.#column = Math.max(0, count - 1)
    else if (name === 'K' || name === 'J') {
      this.#current().splice(this.#column)
      if (name === 'J') this.#rows.splice(this.#row + 1)
    } else if (!/^[mhl]$/.test(name))
      throw new Error(`No terminal may get ${JSON.stringify(token)}`)
  }

  #print(character: string): void {
    const width = widthOf(character)
    if (this.#column + width > this.#columns) this.#breakLine()
    const row = this.#current()
    while (row.length < this.#column) row.push(' ')
    row.splice(this.#column, width, character, ...Array.from({ length: width - 1 }, () => ''))
    this.#column += width
  }

  #breakLine(): void {
    this.#row++
    this.#column = 0
    this.#current()
  }

  #current(): string[] {
    while (this.#rows.length <= this.#row) this.#rows.push([])
    return this.#rows[this.#row] ?? []
  }
}

const codes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /(\r|\n|\u001b\[\??[\d;]*[A-Za-z]|\u001b)/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const code = /^\u001b\[\??([\d;]*)([A-Za-z])$/

function tokensOf(output: string): readonly string[] {
  const characters = new Intl.Segmenter('en')
  return output
    .split(codes)
    .flatMap((text) =>
      codes.test(text) ? [text] : Array.from(characters.segment(text), ({ segment }) => segment),
    )
}
