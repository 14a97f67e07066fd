import type { A2AClient } from '../client/index.ts'
import { toPrintableLine } from '../shared/text.ts'
import { asks, type ChatOptions, type Place } from './chat-place.ts'
import { CliError, reportError } from './errors.ts'
import { dim } from './screen.ts'
import { writeTrace } from './tracing.ts'
import { aboutTask } from './transcript.ts'

/** A chat in which a command is given. */
interface Given extends ChatOptions {
  readonly place: Place
}

interface ChatCommand {
  readonly words: string
  /** Does it; gives back where the conversation stands afterwards, undefined where it is over. */
  run(client: A2AClient, chat: Given): Place | undefined | Promise<Place | undefined>
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

/** The command that a line gives, if it is one: a slash and a word, and a space or nothing behind it. */
export function commandIn(line: string): string | undefined {
  return /^\/([a-z]{1,40})(?:\s|$)/i.exec(line.trim())?.[1]?.toLowerCase()
}

/** Runs a command of the chat. What goes wrong is told, and the conversation goes on. */
export async function runChatCommand(
  client: A2AClient,
  name: string,
  chat: Given,
): Promise<Place | undefined> {
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

function showHelp(_client: A2AClient, chat: Given): Place {
  for (const [name, { words }] of Object.entries(commands)) say(chat, `/${name.padEnd(8)}${words}`)
  say(chat, '//…      sends a line that begins with a slash')
  return chat.place
}

function showTask(_client: A2AClient, chat: Given): Place {
  const { task, contextId } = chat.place
  if (task) say(chat, aboutTask(task, chat.url))
  else
    say(
      chat,
      contextId ? `no task, context ${toPrintableLine(contextId)}` : 'There is no task yet.',
    )
  return chat.place
}

async function showTrace(client: A2AClient, chat: Given): Promise<Place> {
  const { task } = chat.place
  if (!task) say(chat, 'There is no task yet.')
  else if (!chat.json) writeTrace(chat.about, await client.getTask(task.id, chat.tracing))
  return chat.place
}

async function cancelTask(client: A2AClient, chat: Given): Promise<Place> {
  const { place } = chat
  if (!place.task || !asks(place)) {
    say(chat, 'Nothing runs.')
    return place
  }
  const task = await client.cancelTask(place.task.id)
  say(chat, aboutTask(task, chat.url))
  return { ...place, task }
}

function say({ about, json }: Given, text: string): void {
  if (!json) about.write(dim(text), '\n')
}
