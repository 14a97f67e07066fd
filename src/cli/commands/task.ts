import { type Command, InvalidArgumentError } from 'commander'
import type { A2AClient } from '../../client/index.ts'
import { type ListTasksRequest, type TaskState, taskStates } from '../../index.ts'
import { systemClock } from '../../shared/clock.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { addClientOptions, type ClientFlags, withClient } from '../client.ts'
import { addCommand, exits, toCount } from '../command.ts'
import { stderr, stdout } from '../screen.ts'
import { toTaskList } from '../task-list.ts'
import { traceOf } from '../terminal/trace.ts'
import { stateName, taskText } from '../text.ts'
import { tracingOf, writeTrace } from '../tracing.ts'
import { createTranscript, exitCodeOfTask, type Transcript } from '../transcript.ts'

interface GetFlags extends ClientFlags {
  readonly history?: number
  readonly trace?: boolean
}

interface ListFlags extends ClientFlags {
  readonly state?: TaskState
  readonly context?: string
  readonly limit: number
  readonly page?: string
}

/** Adds `corral task get|list|watch|cancel`. */
export function addTaskCommand(program: Command): void {
  const task = program.command('task').description('look at tasks, follow them, cancel them')
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
    'cancel <url> <id>',
    'cancel a task',
    'corral task cancel http://localhost:3000 5b3f…',
  ).action(exits(cancelCommand))
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

async function listCommand(url: string, flags: ListFlags): Promise<number> {
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

async function watchCommand(url: string, id: string, flags: ClientFlags): Promise<number> {
  const { json = false } = flags
  const isSeen = stderr.isLively && !json
  const transcript = createTranscript({ out: stdout, about: stderr, json, asTree: true })
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

async function cancelCommand(url: string, id: string, flags: ClientFlags): Promise<number> {
  const task = await withClient(url, flags, (client) => client.cancelTask(id))
  print(task, flags, ({ status }) => `task ${id} ${stateName(status.state)}`)
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
