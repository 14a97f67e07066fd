import type { A2AClient } from '../client/index.ts'
import { toPrintableLine } from '../shared/text.ts'
import { commandIn, runChatCommand } from './chat-commands.ts'
import { asks, type ChatOptions, type Place } from './chat-place.ts'
import { reportError } from './errors.ts'
import { createLines } from './lines.ts'
import { dim } from './screen.ts'
import { createTranscript, type Transcript } from './transcript.ts'

/** A turn that runs. */
interface Running {
  readonly transcript: Transcript
  readonly abort: AbortController
  canceling: boolean
}

/** Talks with an agent until there are no more lines, `/quit`, or Ctrl-C while nothing runs. */
export async function holdChat(client: A2AClient, options: ChatOptions): Promise<void> {
  const { about, json, name } = options
  let place: Place | undefined = options.contextId ? { contextId: options.contextId } : {}
  let running: Running | undefined
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

function start({ output, about, json, name }: ChatOptions, place: Place): Running {
  const before = asks(place) ? place.task : undefined
  const transcript = createTranscript({ out: output, about, json, before, name })
  return { transcript, abort: new AbortController(), canceling: false }
}

/** Sends one line and shows what comes of it. What goes wrong is told, and the conversation goes on. */
async function take(
  client: A2AClient,
  line: string,
  { place, running, options }: { place: Place; running: Running; options: ChatOptions },
): Promise<Place> {
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

/** Asks the agent to stop; its stream then ends. Once more, or before there is a task, it is left alone. */
function cancel(client: A2AClient, running: Running): void {
  const task = running.transcript.task()
  if (!task || running.canceling) {
    running.abort.abort()
    return
  }
  running.canceling = true
  client.cancelTask(task.id).catch(() => running.abort.abort())
}

/** Two slashes begin a line that is sent with one. */
function unescaped(line: string): string {
  return line.startsWith('//') ? line.slice(1) : line
}
