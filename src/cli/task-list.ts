import type { Task } from '../index.ts'
import { ageText } from './terminal/amounts.ts'
import { clipText } from './terminal/width.ts'
import { toFirstWords } from './terminal/words.ts'
import { partText, stateName, toColumns } from './text.ts'

/** For whom tasks are listed. */
interface ListView {
  /** The time, in milliseconds. */
  readonly now: number
  /** How wide the terminal is; undefined where there is none. */
  readonly columns: number | undefined
}

const longestWords = 60
/** Below this many columns for words, they are worth more than the conversation's id. */
const fewestWords = 24

/** Tasks as a table: state, how long they have been in it, the conversation where there is room, and the first words. */
export function toTaskList(tasks: readonly Task[], { now, columns }: ListView): string {
  const wide = toRows(tasks, now, true)
  const room = roomBeside(wide, columns)
  if (columns === undefined || room >= fewestWords) return withWords(wide, tasks, room)
  const narrow = toRows(tasks, now, false)
  return withWords(narrow, tasks, roomBeside(narrow, columns))
}

type Rows = readonly (readonly string[])[]

function toRows(tasks: readonly Task[], now: number, withContext: boolean): Rows {
  const rows = tasks.map(({ id, contextId, status: { state, timestamp } }) => [
    id,
    stateName(state),
    toAge(timestamp, now),
    ...(withContext ? [contextId] : []),
  ])
  return [['TASK', 'STATE', 'AGE', ...(withContext ? ['CONTEXT'] : [])], ...rows]
}

function toAge(timestamp: string | undefined, now: number): string {
  const time = Date.parse(timestamp ?? '')
  return Number.isNaN(time) ? '' : ageText(now - time)
}

/** How many columns are left for the words. */
function roomBeside(rows: Rows, columns: number | undefined): number {
  if (columns === undefined) return longestWords
  const used = toColumns(rows)
    .split('\n')
    .reduce((most, line) => Math.max(most, line.length), 0)
  return columns - used - 3
}

function withWords(rows: Rows, tasks: readonly Task[], room: number): string {
  const [head = [], ...rest] = rows
  const words = tasks.map((task) => clipText(firstWords(task), Math.max(8, room)))
  return toColumns([[...head, 'WORDS'], ...rest.map((row, i) => [...row, words[i] ?? ''])])
}

/** How the conversation about the task began. */
function firstWords({ history = [] }: Task): string {
  const first = history.find(({ role }) => role === 'ROLE_USER') ?? history[0]
  return toFirstWords(first?.parts.map(partText).join(' ') ?? '')
}
