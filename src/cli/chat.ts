import type { A2AClient } from '../client/index.ts'
import { isInterrupted, type Task } from '../index.ts'
import { toPrintableLine } from '../shared/text.ts'
import { reportError } from './errors.ts'
import { createLines } from './lines.ts'
import { dim, type Screen } from './screen.ts'
import { createTranscript, type Transcript } from './transcript.ts'

/** Between whom a chat is, and where it goes. */
interface ChatOptions {
  /** The agent's name. */
  readonly name: string
  readonly output: Screen
  readonly about: Screen
  readonly json: boolean
  /** The conversation to go on with; a new one if absent. */
  readonly contextId?: string
}

/** Where a conversation stands: what the next line belongs to. */
interface Place {
  readonly contextId?: string
  /** The task that waits for an answer. */
  readonly task?: Task
}

/** A turn that runs. */
interface Running {
  readonly transcript: Transcript
  readonly abort: AbortController
  canceling: boolean
}

/** Talks with an agent until there are no more lines, `/quit`, or Ctrl-C while nothing runs. */
export async function holdChat(client: A2AClient, options: ChatOptions): Promise<void> {
  const { about, json, name } = options
  let place: Place = options.contextId ? { contextId: options.contextId } : {}
  let running: Running | undefined
  const lines = createLines(() => {
    if (running) cancel(client, running)
    else lines.close()
  })
  const note = (text: string): void => {
    if (!json) about.write(dim(text), '\n')
  }
  note(`Talking with ${toPrintableLine(name)}. /new begins another conversation, /quit leaves.`)
  for (;;) {
    const line = await lines.ask(place.task ? 'answer> ' : 'you> ')
    if (line === undefined || line.trim() === '/quit') break
    if (line.trim() === '') continue
    if (line.trim() === '/new') {
      place = {}
      continue
    }
    const transcript = createTranscript({ out: options.output, about, json, before: place.task })
    running = { transcript, abort: new AbortController(), canceling: false }
    place = await take(client, line, { place, running, json })
    running = undefined
  }
  lines.close()
}

/** Sends one line and shows what comes of it. What goes wrong is told, and the conversation goes on. */
async function take(
  client: A2AClient,
  line: string,
  { place, running, json }: { place: Place; running: Running; json: boolean },
): Promise<Place> {
  const { transcript, abort } = running
  try {
    const ids = {
      ...(place.contextId && { contextId: place.contextId }),
      ...(place.task && { taskId: place.task.id }),
    }
    const events = client.sendAndFollow(line, { ...ids, signal: abort.signal })
    for await (const event of events) transcript.show(event)
  } catch (error) {
    transcript.end()
    if (!abort.signal.aborted) reportError(error, { json, debug: false })
  }
  transcript.end()
  const contextId = transcript.contextId() ?? place.contextId
  const task = transcript.task()
  return {
    ...(contextId && { contextId }),
    ...(task && isInterrupted(task.status.state) && { task }),
  }
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
