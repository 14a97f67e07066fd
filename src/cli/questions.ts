import { emitKeypressEvents } from 'node:readline'
import { CliError } from './errors.ts'
import { createLines } from './lines.ts'
import { stdout } from './screen.ts'

/** One of several answers. */
interface Option<T> {
  readonly value: T
  readonly label: string
}

/** Whether a person can be asked: both what they type and what they read is a terminal. */
export function canAsk(): boolean {
  return Boolean(process.stdin.isTTY) && stdout.isTTY
}

/**
 * Lets a person choose in a terminal, with arrow keys or numbers and Enter; the first is the default.
 * @throws CliError where they leave with Ctrl-C.
 */
export async function askToChoose<T>(
  question: string,
  options: readonly [Option<T>, ...Option<T>[]],
): Promise<T> {
  const { stdin } = process
  let chosen: Option<T> = options[0]
  const show = (): void => stdout.rewrite(`${question}: ${toRow(options, chosen)}`)
  // Before the question is seen: until then the terminal itself takes Ctrl-C, and ends the process.
  emitKeypressEvents(stdin)
  stdin.setRawMode(true).resume()
  show()
  try {
    return await new Promise<T>((resolve, reject) => {
      stdin.on('keypress', function press(text: string | undefined, key: Key) {
        if (key.ctrl && (key.name === 'c' || key.name === 'd')) {
          stdin.off('keypress', press)
          reject(leaving())
        } else if (key.name === 'return' || key.name === 'enter') {
          stdin.off('keypress', press)
          resolve(chosen.value)
        } else {
          chosen =
            options[placeAfter(options.indexOf(chosen), options.length, key.name ?? text)] ?? chosen
          show()
        }
      })
    })
  } finally {
    stdin.setRawMode(false).pause()
    stdout.write('\n')
  }
}

/**
 * Asks a person for a text; an empty line is the default.
 * @throws CliError where they leave with Ctrl-C or Ctrl-D.
 */
export async function askFor(question: string, initial: string): Promise<string> {
  const lines = createLines({ interrupted: () => lines.close(), typed: () => false })
  const line = await lines.ask(`${question} [${initial}]: `)
  lines.close()
  if (line === undefined) throw leaving()
  return line.trim() || initial
}

interface Key {
  readonly name?: string
  readonly ctrl?: boolean
}

/** Where a key leads; the ends are joined. */
function placeAfter(place: number, count: number, key = ''): number {
  if (key === 'right' || key === 'down' || key === 'tab') return (place + 1) % count
  if (key === 'left' || key === 'up') return (place + count - 1) % count
  const number = Number(key)
  return Number.isInteger(number) && number >= 1 && number <= count ? number - 1 : place
}

function toRow<T>(options: readonly Option<T>[], chosen: Option<T>): string {
  return options
    .map((option, index) => {
      const words = `${index + 1} ${option.label}`
      return option === chosen ? `[${words}]` : ` ${words} `
    })
    .join(' ')
}

function leaving(): CliError {
  return new CliError('Nothing was written', { exitCode: 1 })
}
