import { type Command, InvalidArgumentError } from 'commander'
import type { A2AClient } from '../../client/index.ts'
import {
  A2AError,
  errorExtension,
  type ListTasksRequest,
  type Message,
  type Task,
  type TaskState,
  taskStates,
} from '../../index.ts'
import type { Explanation } from '../../protocol/failure.ts'
import { systemClock } from '../../shared/clock.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { addClientOptions, type ClientFlags, withClient } from '../client.ts'
import { addCommand, exits, toCount } from '../command.ts'
import { exitCodeOf } from '../errors.ts'
import { stderr, stdout } from '../screen.ts'
import { ageText, toFirstWords } from '../terminal/text.ts'
import { traceOf } from '../terminal/trace.ts'
import { clipText } from '../terminal/width.ts'
import {
  createTranscript,
  exitCodeOfTask,
  isExplanation,
  partText,
  stateName,
  type Transcript,
  taskText,
  toColumns,
  tracingOf,
  whyOf,
  writeTrace,
  writeWhy,
} from '../transcript.ts'

/** Adds `corral task get|list|watch|why|cancel`. */
export function addTaskCommand(program: Command): void {
  const task = program
    .command('task')
    .description('look at tasks, follow and cancel them, say why they failed')
  const add = (usage: string, description: string, ...examples: string[]): Command =>
    addClientOptions(addCommand(task, { usage, description, examples }))
  add('get <url> <id>', 'show a task', 'corral task get http://localhost:3000 5b3f…')
    .option('--history <n>', 'only the last messages', toCount)
    .option('--trace', 'show whom it delegated to, with times and tokens; with --json, in the task')
    .action(exits(getCommand))
  add(
    'list <url>',
    'list tasks, the newest first',
    'corral task list http://localhost:3000',
    'corral task list http://localhost:3000 --state working --json',
  )
    .option('--state <state>', 'only tasks in this state', toState)
    .option('--context <id>', 'only tasks of this conversation')
    .option('--limit <n>', 'at most this many', toCount, 20)
    .option('--page <token>', 'go on where an earlier page ended')
    .action(exits(listCommand))
  add(
    'watch <url> <id>',
    'follow a task until it ends or asks something',
    'corral task watch http://localhost:3000 5b3f…',
  ).action(exits(watchCommand))
  add(
    'why <url> <id>',
    'say what failed in a task, what the service answered and what to do',
    'corral task why http://localhost:3000 5b3f…',
  ).action(exits(whyCommand))
  add(
    'cancel <url> <id>',
    'cancel a task',
    'corral task cancel http://localhost:3000 5b3f…',
  ).action(exits(cancelCommand))
}

interface GetFlags extends ClientFlags {
  readonly history?: number
  readonly trace?: boolean
}

async function getCommand(url: string, id: string, flags: GetFlags): Promise<number> {
  const { history: historyLength } = flags
  const request = { id, ...(historyLength !== undefined && { historyLength }) }
  const task = await withClient(url, flags, async (client) =>
    client.getTask(request, await tracingOf(client, flags.trace ?? false)),
  )
  print(task, flags, taskText)
  if (flags.trace && !flags.json) {
    stdout.write('\n')
    writeTrace(stdout, task)
  }
  return 0
}

function print<T>(value: T, { json }: ClientFlags, toText: (value: T) => string): void {
  stdout.write(`${json ? JSON.stringify(value, null, 2) : toText(value)}\n`)
}

function toState(text: string): TaskState {
  const wanted = text.toUpperCase().replaceAll('-', '_').replace('TASK_STATE_', '')
  const state = taskStates.find((one) => one === `TASK_STATE_${wanted}`)
  if (state) return state
  const known = taskStates.slice(1).map(stateName).join(', ')
  throw new InvalidArgumentError(`Known states: ${known}.`)
}

interface TaskListFlags extends ClientFlags {
  readonly state?: TaskState
  readonly context?: string
  readonly limit: number
  readonly page?: string
}

async function listCommand(url: string, flags: TaskListFlags): Promise<number> {
  const { state, context, limit, page } = flags
  const request: ListTasksRequest = {
    pageSize: limit,
    ...(state && { status: state }),
    ...(context && { contextId: context }),
    ...(page && { pageToken: page }),
  }
  const list = await withClient(url, flags, (client) => client.listTasks(request))
  print(list, flags, ({ tasks, totalSize, nextPageToken }) => {
    const more = nextPageToken
      ? `\n${tasks.length} of ${totalSize}; go on with --page ${toPrintableLine(nextPageToken)}`
      : ''
    const columns = stdout.isTTY ? stdout.columns : undefined
    return `${toTaskList(tasks, { now: systemClock.now(), columns })}${more}`
  })
  return 0
}

/** For whom tasks are listed. */
interface ListView {
  /** The time, in milliseconds. */
  readonly now: number
  /** How wide the terminal is; undefined where there is none. */
  readonly columns: number | undefined
}

/** Below this many columns for words, they are worth more than the conversation's id. */
const fewestWords = 24

/** Tasks as a table: state, how long they have been in it, the conversation where there is room, and the first words. */
function toTaskList(tasks: readonly Task[], { now, columns }: ListView): string {
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

const longestWords = 60

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

async function watchCommand(url: string, id: string, flags: ClientFlags): Promise<number> {
  const { json = false } = flags
  const isSeen = stderr.isLively && !json
  const transcript = createTranscript({ json, asTree: true })
  try {
    await withClient(url, flags, (client) => watch(client, id, { transcript, isSeen }))
  } finally {
    transcript.end()
  }
  const task = transcript.task()
  if (!task) return 0
  if (!json) stderr.write(`task ${id} ${stateName(task.status.state)}\n`)
  return exitCodeOfTask(task)
}

/** Follows a task; where its tree is seen, what happened before is part of it, and the whole of it stays at the end. */
async function watch(
  client: A2AClient,
  id: string,
  { transcript, isSeen }: { readonly transcript: Transcript; readonly isSeen: boolean },
): Promise<void> {
  const tracing = await tracingOf(client, isSeen)
  for await (const event of client.follow(id, tracing)) {
    transcript.show(event)
    if (tracing.extensions && 'task' in event)
      transcript.recall(traceOf(await client.getTask(id, tracing)))
  }
  transcript.end()
  if (!tracing.extensions) return
  const task = await client.getTask(id, tracing)
  if (traceOf(task).length > 0) writeTrace(stderr, task)
}

async function whyCommand(url: string, id: string, flags: ClientFlags): Promise<number> {
  try {
    const task = await withClient(url, flags, async (client) =>
      client.getTask({ id, historyLength: 0 }, await tracingOf(client, true)),
    )
    return showWhy(task, flags)
  } catch (error) {
    const why = whyIn(error)
    if (!why) throw error
    if (flags.json) print([why], flags, String)
    else writeWhy(stdout, [why])
    return exitCodeOf(error)
  }
}

/** Why a task cannot be read, where the server explains it. */
function whyIn(error: unknown): Explanation | undefined {
  if (!(error instanceof A2AError)) return undefined
  try {
    const given: unknown = JSON.parse(error.details.metadata?.why ?? '')
    return isExplanation(given) ? given : undefined
  } catch {
    return undefined
  }
}

function showWhy(task: Task, flags: ClientFlags): number {
  const { id } = task
  const why = whyOf(task)
  if (flags.json) {
    print(why, flags, String)
    return 0
  }
  if (why.every(({ continued }) => continued)) {
    const { state, message } = task.status
    const code = codeIn(message)
    stdout.write(`task ${id} ${stateName(state)}${code === undefined ? '' : ` (${code})`}\n`)
    if (message) stdout.write(`${message.parts.map(partText).join('')}\n`)
    if (code !== undefined) stdout.write(`${notExplained}\n`)
  }
  writeWhy(stdout, why)
  return 0
}

/** The code of the error that ended a task; undefined where none did. */
function codeIn(message: Message | undefined): string | undefined {
  const { code } = Object(message?.metadata?.[errorExtension])
  return typeof code === 'string' ? toPrintableLine(code) : undefined
}

const notExplained =
  'The words of the error are for operators, where trace is on: use credentials with the scope operator, or read the log of the server.'

async function cancelCommand(url: string, id: string, flags: ClientFlags): Promise<number> {
  const task = await withClient(url, flags, (client) => client.cancelTask(id))
  print(task, flags, ({ status }) => `task ${id} ${stateName(status.state)}`)
  return 0
}
