import { toPrintable } from '../shared/text.ts'
import { codesOf, type Piece } from './terminal/piece.ts'
import { clipPieces } from './terminal/width.ts'

export { dim } from './terminal/piece.ts'

/**
 * Where a person or a program reads what a command says. All output leaves here, and any of it may be a stranger's
 * words: what could steer a terminal is written out, and only then are our own codes added.
 */
export interface Screen {
  readonly isTTY: boolean
  /** Whether styles are shown: on a terminal, unless NO_COLOR, `--no-color` or TERM=dumb say no. */
  readonly hasStyles: boolean
  /** Whether lines can be shown and taken back: on a terminal that is no dumb one, and not in CI. */
  readonly isLively: boolean
  /** How wide it is; 80 where nobody knows. */
  readonly columns: number
  write(...pieces: readonly Piece[]): void
  /** Writes over the line that is there, on a terminal. */
  rewrite(line: string): void
  /**
   * Lines that stand below all output until the next output takes them away; none takes them away too. Only on a lively
   * screen, and not while a line is open.
   */
  stand(...lines: readonly (readonly Piece[])[]): void
}

/** What a terminal shows at the moment; both screens may lead to the same. */
interface Shown {
  /** How many lines stand below the output. */
  standing: number
  /** Whether the last output did not end its line. */
  lineIsOpen: boolean
}

const screens = createScreens()

/** What a command gives. */
export const stdout: Screen = screens.output

/** What is said about it: progress, state, errors. */
export const stderr: Screen = screens.about

/** Whoever reads our output may stop early (`corral task list URL | head -1`). */
export function leaveWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
}

function createScreens(): { readonly output: Screen; readonly about: Screen } {
  const shown: Shown = { standing: 0, lineIsOpen: false }
  const { stdout: output, stderr: about } = process
  return { output: createScreen(output, shown), about: createScreen(about, shown) }
}

function createScreen(stream: NodeJS.WriteStream, shown: Shown): Screen {
  const isTTY = stream.isTTY === true
  const isLively = isTTY && process.env.TERM !== 'dumb' && !isSet(process.env.CI)
  // Asked when something is written: `--no-color` is known only when the command line is read.
  const hasStyles = (): boolean => isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  const toText = (piece: Piece): string => {
    if (typeof piece === 'string') return toPrintable(piece)
    const text = toPrintable(piece.text)
    if (text === '' || !hasStyles()) return text
    const [on, off] = codesOf(piece.style)
    return `${on}${text}${off}`
  }
  const columns = (): number => stream.columns || 80
  return {
    isTTY,
    isLively,
    get hasStyles() {
      return hasStyles()
    },
    get columns() {
      return columns()
    },
    write(...pieces) {
      const text = pieces.map(toText).join('')
      if (text === '') return
      const clear = isTTY ? erase(shown) : ''
      if (isTTY) shown.lineIsOpen = !text.endsWith('\n')
      stream.write(clear + text)
    },
    rewrite: (line) => void stream.write(`\r\u001b[K${toPrintable(line)}`),
    stand(...lines) {
      if (!isLively || shown.lineIsOpen) return
      const clear = erase(shown)
      // A line that the terminal breaks, or one above its first row, could not be taken back.
      const some = lines.slice(-Math.max(1, (stream.rows || 24) - 1))
      const texts = some.map((line) =>
        clipPieces(line, columns() - 1)
          .map(toText)
          .join(''),
      )
      shown.standing = texts.length
      if (clear || texts.length > 0) stream.write(clear + texts.join('\n'))
    },
  }
}

/** What takes the standing lines away. */
function erase(shown: Shown): string {
  const { standing } = shown
  if (standing === 0) return ''
  shown.standing = 0
  return standing === 1 ? '\r\u001b[J' : `\r\u001b[${standing - 1}A\u001b[J`
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && !/^(?:|0|false)$/i.test(value)
}
