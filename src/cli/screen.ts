import { toPrintable } from '../shared/text.ts'

/** Text, or text that is not the answer itself. */
type Piece = string | { readonly dim: string }

/**
 * Where a person or a program reads what a command says. All output leaves here, and any of it may be a stranger's
 * words: what could steer a terminal is written out, and only then are our own codes added.
 */
export interface Screen {
  readonly isTTY: boolean
  write(...pieces: readonly Piece[]): void
  /** Writes over the line that is there, on a terminal. */
  rewrite(line: string): void
}

/** What a command gives. */
export const stdout: Screen = createScreen(process.stdout)

/** What is said about it: progress, state, errors. */
export const stderr: Screen = createScreen(process.stderr)

/** Dims what is not the answer itself, on terminals that show it and where NO_COLOR does not forbid it. */
export function dim(text: string): Piece {
  return { dim: text }
}

/** Whoever reads our output may stop early (`corral task list URL | head -1`). */
export function leaveWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
}

function createScreen(stream: NodeJS.WriteStream): Screen {
  const isTTY = stream.isTTY === true
  const plain = !isTTY || Boolean(process.env.NO_COLOR) || process.env.TERM === 'dumb'
  const toText = (piece: Piece): string => {
    if (typeof piece === 'string') return toPrintable(piece)
    const text = toPrintable(piece.dim)
    return plain ? text : `\u001b[2m${text}\u001b[22m`
  }
  return {
    isTTY,
    write: (...pieces) => void stream.write(pieces.map(toText).join('')),
    rewrite: (line) => void stream.write(`\r\u001b[K${toPrintable(line)}`),
  }
}
