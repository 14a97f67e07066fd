import type { Command } from 'commander'
import type { A2AClient } from '../../client/index.ts'
import { isInterrupted, type Task } from '../../index.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { addClientOptions, type ClientFlags, withClient } from '../client.ts'
import { addCommand, exits } from '../command.ts'
import { CliError, reportError } from '../errors.ts'
import { createLines, dim, stderr } from '../screen.ts'
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
    const tracing = await tracingOf(client, !json)
    await new Chat(client, { url, name, json, tracing }).hold(flags.context)
    return 0
  })
}

/** With whom a chat is, and how it is shown. */
interface ChatOptions {
  readonly url: string
  /** The agent's name. */
  readonly name: string
  readonly json: boolean
  /** What shows what happens inside its tasks. */
  readonly tracing: Tracing
}

/** A turn that runs. */
interface RunningLine {
  readonly transcript: Transcript
  readonly abort: AbortController
  canceling: boolean
}

/** Talks with an agent until there are no more lines, `/quit`, or Ctrl-C while nothing runs. */
class Chat {
  readonly #client: A2AClient
  readonly #options: ChatOptions
  /** The conversation that the next line belongs to, and its latest task. */
  #contextId: string | undefined
  #task: Task | undefined
  #running: RunningLine | undefined
  #isOver = false

  constructor(client: A2AClient, options: ChatOptions) {
    this.#client = client
    this.#options = options
  }

  /** Goes on with a conversation, or begins one. */
  async hold(contextId: string | undefined): Promise<void> {
    this.#contextId = contextId || undefined
    const lines = createLines({
      interrupted: () => (this.#running ? this.#cancel(this.#running) : lines.close()),
      typed: (line) => {
        if (commandIn(line) !== 'cancel' || !this.#running) return false
        this.#cancel(this.#running)
        return true
      },
    })
    this.#say(
      `Talking with ${toPrintableLine(this.#options.name)}. /help shows what else there is.`,
    )
    while (!this.#isOver) {
      const line = await lines.ask(this.#asks() ? 'answer> ' : 'you> ')
      if (line === undefined) break
      const command = commandIn(line)
      if (command !== undefined) await this.#obey(command)
      // Two slashes begin a line that is sent with one.
      else if (line.trim() !== '') await this.#send(line.startsWith('//') ? line.slice(1) : line)
    }
    lines.close()
  }

  /** Asks the agent to stop; its stream then ends. Once more, or before there is a task, only the stream is ended. */
  #cancel(running: RunningLine): void {
    const task = running.transcript.task()
    if (!task || running.canceling) {
      running.abort.abort()
      return
    }
    running.canceling = true
    this.#client.cancelTask(task.id).catch(() => running.abort.abort())
  }

  /** Whether the latest task waits for an answer. */
  #asks(): boolean {
    return this.#task !== undefined && isInterrupted(this.#task.status.state)
  }

  #say(text: string): void {
    if (!this.#options.json) stderr.write(dim(text), '\n')
  }

  readonly #commands: Readonly<Record<string, ChatCommand>> = {
    help: { words: 'shows this', run: () => this.#showHelp() },
    new: { words: 'begins another conversation', run: () => this.#forget() },
    task: {
      words: 'shows the latest task: its id, its state, its conversation',
      run: () => this.#showTask(),
    },
    trace: {
      words: 'shows whom the latest task delegated to, with times and tokens',
      run: () => this.#showTrace(),
    },
    cancel: {
      words: 'cancels the task that runs or asks; Ctrl-C does too',
      run: () => this.#cancelTask(),
    },
    quit: {
      words: 'leaves; so does Ctrl-C while nothing runs',
      run: () => {
        this.#isOver = true
      },
    },
  }

  /** Runs a command of the chat. An error is shown, and the conversation continues. */
  async #obey(name: string): Promise<void> {
    try {
      const command = Object.hasOwn(this.#commands, name) ? this.#commands[name] : undefined
      if (command) return await command.run()
      const hint = '/help lists the commands; //… sends a line that begins with a slash.'
      throw new CliError(`There is no command /${name}`, { hint })
    } catch (error) {
      reportError(error, { json: this.#options.json, debug: false })
    }
  }

  #showHelp(): void {
    for (const [name, { words }] of Object.entries(this.#commands))
      this.#say(`/${name.padEnd(8)}${words}`)
    this.#say('//…      sends a line that begins with a slash')
  }

  #forget(): void {
    this.#contextId = undefined
    this.#task = undefined
  }

  #showTask(): void {
    const context = this.#contextId
    if (this.#task) this.#say(aboutTask(this.#task, this.#options.url))
    else if (context) this.#say(`no task, context ${toPrintableLine(context)}`)
    else this.#say('There is no task yet.')
  }

  async #showTrace(): Promise<void> {
    const { json, tracing } = this.#options
    if (!this.#task) this.#say('There is no task yet.')
    else if (!json) writeTrace(stderr, await this.#client.getTask(this.#task.id, tracing))
  }

  async #cancelTask(): Promise<void> {
    if (!this.#task || !this.#asks()) {
      this.#say('Nothing runs.')
      return
    }
    this.#task = await this.#client.cancelTask(this.#task.id)
    this.#say(aboutTask(this.#task, this.#options.url))
  }

  /** Sends one line and shows what comes of it. An error is shown, and the conversation continues. */
  async #send(line: string): Promise<void> {
    const { json, name, tracing } = this.#options
    const before = this.#asks() ? this.#task : undefined
    const transcript = createTranscript({ json, before, name })
    const abort = new AbortController()
    this.#running = { transcript, abort, canceling: false }
    try {
      const call = {
        ...(this.#contextId && { contextId: this.#contextId }),
        ...(before && { taskId: before.id }),
        ...tracing,
        signal: abort.signal,
      }
      for await (const event of this.#client.sendAndFollow(line, call)) transcript.show(event)
    } catch (error) {
      transcript.end()
      if (!abort.signal.aborted) reportError(error, { json, debug: false })
    }
    transcript.end()
    this.#contextId = transcript.contextId() ?? this.#contextId
    this.#task = transcript.task()
    this.#running = undefined
  }
}

interface ChatCommand {
  readonly words: string
  run(): void | Promise<void>
}

/** The command that a line gives, if it is one: a slash and a word, and a space or nothing behind it. */
function commandIn(line: string): string | undefined {
  return /^\/([a-z]{1,40})(?:\s|$)/i.exec(line.trim())?.[1]?.toLowerCase()
}
