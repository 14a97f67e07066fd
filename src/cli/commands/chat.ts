import type { Command } from 'commander'
import type { A2AClient } from '../../client/index.ts'
import { isInterrupted, type Task } from '../../index.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { addClientOptions, type ClientFlags, withClient } from '../client.ts'
import { addCommand, exits } from '../command.ts'
import { CliError, reportError } from '../errors.ts'
import { createLines, dim, type Screen, stderr, stdout } from '../screen.ts'
import {
  aboutTask,
  createTranscript,
  type Tracing,
  type Transcript,
  tracingOf,
  writeTrace,
} from '../transcript.ts'

/** Adds `corral chat`. */
export function addChatCommand(program: Command): void {
  const command = addCommand(program, {
    usage: 'chat <url>',
    description:
      'talk with an agent, line by line. /help lists the commands: /new, /task, /trace, /cancel, /quit; Ctrl-C cancels the task that runs, and leaves when none does',
    examples: [
      'corral chat http://localhost:3000',
      'corral chat http://localhost:3000 --context 5b3f…',
    ],
  })
  addClientOptions(command)
    .option('--context <id>', 'go on with this conversation')
    .action(exits(chatCommand))
}

interface ChatFlags extends ClientFlags {
  readonly context?: string
}

async function chatCommand(url: string, flags: ChatFlags): Promise<number> {
  return withClient(url, flags, async (client) => {
    const { name } = await client.fetchAgentCard()
    const json = flags.json ?? false
    await holdChat(client, {
      url,
      name,
      output: stdout,
      about: stderr,
      json,
      tracing: await tracingOf(client, !json),
      ...(flags.context && { contextId: flags.context }),
    })
    return 0
  })
}

/** Between whom a chat is, and where it goes. */
interface ChatOptions {
  readonly url: string
  /** The agent's name. */
  readonly name: string
  readonly output: Screen
  readonly about: Screen
  readonly json: boolean
  /** What shows what happens inside its tasks. */
  readonly tracing: Tracing
  /** The conversation to go on with; a new one if absent. */
  readonly contextId?: string
}

/** Where a conversation stands: what the next line belongs to. */
interface ChatPlace {
  readonly contextId?: string
  /** The latest task. */
  readonly task?: Task
}

/** A turn that runs. */
interface RunningLine {
  readonly transcript: Transcript
  readonly abort: AbortController
  canceling: boolean
}

/** Talks with an agent until there are no more lines, `/quit`, or Ctrl-C while nothing runs. */
async function holdChat(client: A2AClient, options: ChatOptions): Promise<void> {
  const { about, json, name } = options
  let place: ChatPlace | undefined = options.contextId ? { contextId: options.contextId } : {}
  let running: RunningLine | undefined
  const lines = createLines({
    interrupted: () => (running ? cancel(client, running) : lines.close()),
    typed(line) {
      if (commandIn(line) !== 'cancel' || !running) return false
      cancel(client, running)
      return true
    },
  })
  if (!json)
    about.write(dim(`Talking with ${toPrintableLine(name)}. /help shows what else there is.`), '\n')
  while (place) {
    const line = await lines.ask(asks(place) ? 'answer> ' : 'you> ')
    if (line === undefined) break
    const command = commandIn(line)
    if (command !== undefined) place = await runChatCommand(client, command, { ...options, place })
    else if (line.trim() !== '') {
      running = start(options, place)
      place = await take(client, unescaped(line), { place, running, options })
      running = undefined
    }
  }
  lines.close()
}

/** Asks the agent to stop; its stream then ends. Once more, or before there is a task, it is left alone. */
function cancel(client: A2AClient, running: RunningLine): void {
  const task = running.transcript.task()
  if (!task || running.canceling) {
    running.abort.abort()
    return
  }
  running.canceling = true
  client.cancelTask(task.id).catch(() => running.abort.abort())
}

/** The command that a line gives, if it is one: a slash and a word, and a space or nothing behind it. */
function commandIn(line: string): string | undefined {
  return /^\/([a-z]{1,40})(?:\s|$)/i.exec(line.trim())?.[1]?.toLowerCase()
}

/** Whether the latest task waits for an answer. */
function asks({ task }: ChatPlace): boolean {
  return task !== undefined && isInterrupted(task.status.state)
}

/** A chat in which a command is given. */
interface ChatState extends ChatOptions {
  readonly place: ChatPlace
}

interface ChatCommand {
  readonly words: string
  /** Does it; gives back where the conversation stands afterwards, undefined where it is over. */
  run(client: A2AClient, chat: ChatState): ChatPlace | undefined | Promise<ChatPlace | undefined>
}

const commands: Readonly<Record<string, ChatCommand>> = {
  help: { words: 'shows this', run: showHelp },
  new: { words: 'begins another conversation', run: () => ({}) },
  task: { words: 'shows the latest task: its id, its state, its conversation', run: showTask },
  trace: {
    words: 'shows whom the latest task delegated to, with times and tokens',
    run: showTrace,
  },
  cancel: { words: 'cancels the task that runs or asks; Ctrl-C does too', run: cancelTask },
  quit: { words: 'leaves; so does Ctrl-C while nothing runs', run: () => undefined },
}

function showHelp(_client: A2AClient, chat: ChatState): ChatPlace {
  for (const [name, { words }] of Object.entries(commands)) say(chat, `/${name.padEnd(8)}${words}`)
  say(chat, '//…      sends a line that begins with a slash')
  return chat.place
}

function say({ about, json }: ChatState, text: string): void {
  if (!json) about.write(dim(text), '\n')
}

function showTask(_client: A2AClient, chat: ChatState): ChatPlace {
  const { task, contextId } = chat.place
  if (task) say(chat, aboutTask(task, chat.url))
  else
    say(
      chat,
      contextId ? `no task, context ${toPrintableLine(contextId)}` : 'There is no task yet.',
    )
  return chat.place
}

async function showTrace(client: A2AClient, chat: ChatState): Promise<ChatPlace> {
  const { task } = chat.place
  if (!task) say(chat, 'There is no task yet.')
  else if (!chat.json) writeTrace(chat.about, await client.getTask(task.id, chat.tracing))
  return chat.place
}

async function cancelTask(client: A2AClient, chat: ChatState): Promise<ChatPlace> {
  const { place } = chat
  if (!place.task || !asks(place)) {
    say(chat, 'Nothing runs.')
    return place
  }
  const task = await client.cancelTask(place.task.id)
  say(chat, aboutTask(task, chat.url))
  return { ...place, task }
}

/** Runs a command of the chat. What goes wrong is told, and the conversation goes on. */
async function runChatCommand(
  client: A2AClient,
  name: string,
  chat: ChatState,
): Promise<ChatPlace | undefined> {
  try {
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (command) return await command.run(client, chat)
    const hint = '/help lists the commands; //… sends a line that begins with a slash.'
    throw new CliError(`There is no command /${name}`, { hint })
  } catch (error) {
    reportError(error, { json: chat.json, debug: false })
    return chat.place
  }
}

function start({ output, about, json, name }: ChatOptions, place: ChatPlace): RunningLine {
  const before = asks(place) ? place.task : undefined
  const transcript = createTranscript({ out: output, about, json, before, name })
  return { transcript, abort: new AbortController(), canceling: false }
}

/** Sends one line and shows what comes of it. What goes wrong is told, and the conversation goes on. */
async function take(
  client: A2AClient,
  line: string,
  { place, running, options }: { place: ChatPlace; running: RunningLine; options: ChatOptions },
): Promise<ChatPlace> {
  const { transcript, abort } = running
  try {
    const ids = {
      ...(place.contextId && { contextId: place.contextId }),
      ...(place.task && asks(place) && { taskId: place.task.id }),
    }
    const call = { ...ids, ...options.tracing, signal: abort.signal }
    for await (const event of client.sendAndFollow(line, call)) transcript.show(event)
  } catch (error) {
    transcript.end()
    if (!abort.signal.aborted) reportError(error, { json: options.json, debug: false })
  }
  transcript.end()
  const contextId = transcript.contextId() ?? place.contextId
  const task = transcript.task()
  return { ...(contextId && { contextId }), ...(task && { task }) }
}

/** Two slashes begin a line that is sent with one. */
function unescaped(line: string): string {
  return line.startsWith('//') ? line.slice(1) : line
}
