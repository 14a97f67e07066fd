/** What a walk shows: a line for each command as it goes, and at the end what was skipped and what is wrong. */
import type { Place } from './steps.ts'
import type { Done } from './walk.ts'

/** A part of a page that was followed. */
export interface Followed {
  readonly page: string
  readonly place: Place
  readonly done: readonly Done[]
}

/** How much of a fault's output is shown. */
const shownLines = 60

/** A command's line. */
export function toLine({ line, command, outcome, seconds, reason }: Done): string {
  const [first = '', ...more] = command.split('\n')
  const time = outcome === 'skipped' ? '' : `${seconds.toFixed(1)} s`
  const text = more.length > 0 ? `${first} …` : first
  return `  ${outcome.padEnd(8)}${time.padStart(7)}${String(line).padStart(6)}  ${text}${reason ? `  (${reason})` : ''}`
}

/** What is said at the end. */
export function toSummary(followed: readonly Followed[], seconds: number): string {
  const all = followed.flatMap(({ page, place, done }) =>
    done.map((one) => ({ page, place, ...one })),
  )
  const of = (outcome: Done['outcome']) => all.filter((one) => one.outcome === outcome)
  const [faults, skipped] = [of('fault'), of('skipped')]
  const pages = new Set(followed.map(({ page }) => page)).size
  return [
    ...(skipped.length > 0 ? ['', 'Skipped:'] : []),
    ...skipped.map(
      ({ page, line, command, reason }) => `  ${page}:${line}  ${firstLine(command)}  (${reason})`,
    ),
    ...faults.flatMap(({ page, place, line, command, reason, output = '' }) => [
      '',
      `Fault: ${page}:${line}, in ${place === 'empty' ? 'an empty folder' : `the ${place}`}`,
      `  ${command.replaceAll('\n', '\n  ')}`,
      `  ${reason}`,
      ...(output ? ['  It printed:'] : []),
      ...output
        .trimEnd()
        .split('\n')
        .slice(-shownLines)
        .map((text) => `  | ${text}`),
    ]),
    '',
    `${pages} pages: ${of('ok').length} steps done, ${skipped.length} skipped, ${faults.length} faults; ${seconds.toFixed(0)} s`,
  ].join('\n')
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}
