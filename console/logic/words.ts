import type { TaskState } from '../../src/protocol/types.ts'

/** A duration in the two units that matter: `340 ms`, `7.6 s`, `4 min`, `2 h 4 min`, `3 d`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.round(ms / 60_000)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d`
}

/** How long ago a moment was, in words. */
export function ago(at: string, now: number): string {
  const ms = now - Date.parse(at)
  if (Number.isNaN(ms)) return ''
  if (ms < 5_000) return 'now'
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s ago`
  return `${duration(ms)} ago`
}

/** The same without the word: `now`, `14 min`. */
export function since(at: string, now: number): string {
  return ago(at, now).replace(' ago', '')
}

/** A number as people read it: `1,284`, from a hundred thousand on `412k` and `3.1M`. */
export function figure(value: number): string {
  if (value >= 1_000_000) return `${(value / 1_000_000).toFixed(1)}M`
  if (value >= 100_000) return `${Math.round(value / 1_000)}k`
  return value.toLocaleString('en')
}

/** An amount of US dollars: `$0.0042`, `$1.20`, `$1,204`. */
export function money(usd: number): string {
  if (usd === 0) return '$0'
  if (usd < 0.000_001) return '<$0.000001'
  if (usd < 0.01)
    return `$${Number(usd.toPrecision(2))
      .toFixed(6)
      .replace(/0{1,5}$/, '')}`
  return usd < 1_000 ? `$${usd.toFixed(2)}` : `$${Math.round(usd).toLocaleString('en')}`
}

/** `1 task`, `3 tasks`. */
export function countOf(value: number, noun: string): string {
  return `${figure(value)} ${value === 1 ? noun : `${noun}s`}`
}

const small = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten']

/** A count that begins a sentence: `Two tasks`, `14 tasks`. */
export function countInWords(value: number, noun: string): string {
  return `${small[value] ?? figure(value)} ${value === 1 ? noun : `${noun}s`}`
}

/** What stands in the homeHeadline of Home: the one thing that matters now. */
export function homeHeadline(totals: {
  readonly needsYou: number
  readonly running: number
  readonly failed: number
  readonly completed: number
}): string {
  const { needsYou, running, failed, completed } = totals
  if (needsYou > 0) return `${countInWords(needsYou, 'task')} need${needsYou === 1 ? 's' : ''} you`
  if (running > 0) return `${countInWords(running, 'task')} at work`
  if (completed + failed === 0) return 'Ready for a first question'
  if (failed > 0)
    return `All quiet; ${failed === 1 ? 'one task' : `${figure(failed)} tasks`} failed`
  return `All quiet; ${countOf(completed, 'task')} done`
}

/** How a state is named and coloured. */
interface StateWord {
  readonly word: string
  readonly tone: 'busy' | 'wait' | 'good' | 'bad' | 'calm'
}

const stateWords: Readonly<Record<TaskState, StateWord>> = {
  TASK_STATE_UNSPECIFIED: { word: 'unknown', tone: 'calm' },
  TASK_STATE_SUBMITTED: { word: 'submitted', tone: 'busy' },
  TASK_STATE_WORKING: { word: 'working', tone: 'busy' },
  TASK_STATE_COMPLETED: { word: 'completed', tone: 'good' },
  TASK_STATE_FAILED: { word: 'failed', tone: 'bad' },
  TASK_STATE_CANCELED: { word: 'canceled', tone: 'calm' },
  TASK_STATE_INPUT_REQUIRED: { word: 'input required', tone: 'wait' },
  TASK_STATE_REJECTED: { word: 'rejected', tone: 'bad' },
  TASK_STATE_AUTH_REQUIRED: { word: 'login required', tone: 'wait' },
}

/** The word for a state, also for one that nobody knows. */
export function stateWord(state: TaskState): StateWord {
  return stateWords[state] ?? stateWords.TASK_STATE_UNSPECIFIED
}

/** The first characters of an id. */
export function shortId(id: string): string {
  return id.length > 12 ? id.slice(0, 8) : id
}

/** The first line of a text, cut at a word. */
export function firstWords(text: string, longest = 90): string {
  const line = plain(text.trimStart().split('\n', 1)[0] ?? '')
  if (line.length <= longest) return line
  const cut = line.slice(0, longest)
  const space = cut.lastIndexOf(' ')
  return `${space > longest / 2 ? cut.slice(0, space) : cut}…`
}

/** A line of markdown without its marks. */
function plain(line: string): string {
  return line.replace(/^[#>]{1,6} /, '').replaceAll(/[*`]|__/g, '')
}

/** Names of members are ids; people read words. */
export function memberName(id: string): string {
  const words = id.replaceAll(/[-_]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** One of eight colours, the same for the same member everywhere. */
export function colourOf(member: string): string {
  let hash = 2_166_136_261
  for (let i = 0; i < member.length; i++)
    hash = Math.imul(hash ^ member.charCodeAt(i), 16_777_619) >>> 0
  return `member-${((hash ^ (hash >>> 13)) >>> 0) & 7}`
}
