import { type Command, InvalidArgumentError } from 'commander'
import { type ListTasksRequest, type TaskState, taskStates } from '../../index.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { addClientOptions, type ClientFlags, withClient } from '../client.ts'
import { addCommand, exits, toCount } from '../command.ts'
import { stderr, stdout } from '../screen.ts'
import { stateName, taskText, toColumns } from '../text.ts'
import { createTranscript, exitCodeOfTask } from '../transcript.ts'

interface GetFlags extends ClientFlags {
  readonly history?: number
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
  const task = await withClient(url, flags, (client) => client.getTask(request))
  print(task, flags, taskText)
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
    const rows = tasks.map(({ id, contextId, status }) => [
      id,
      stateName(status.state),
      status.timestamp ?? '',
      contextId,
    ])
    const more = nextPageToken
      ? `\n${tasks.length} of ${totalSize}; go on with --page ${toPrintableLine(nextPageToken)}`
      : ''
    return `${toColumns([['TASK', 'STATE', 'SINCE', 'CONTEXT'], ...rows])}${more}`
  })
  return 0
}

async function watchCommand(url: string, id: string, flags: ClientFlags): Promise<number> {
  const transcript = createTranscript({
    out: stdout,
    about: stderr,
    json: flags.json ?? false,
  })
  await withClient(url, flags, async (client) => {
    for await (const event of client.follow(id)) transcript.show(event)
  })
  transcript.end()
  const task = transcript.task()
  if (!task) return 0
  if (!flags.json) stderr.write(`task ${id} ${stateName(task.status.state)}\n`)
  return exitCodeOfTask(task)
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
