import type { Command } from 'commander'
import type { A2AClient, SendOptions } from '../../client/index.ts'
import { answerParts, isInterrupted, isTerminal, type SendMessageResponse } from '../../index.ts'
import { systemClock } from '../../shared/clock.ts'
import { addClientOptions, type ClientFlags, withClient } from '../client.ts'
import { addCommand, exits } from '../command.ts'
import { dim, stderr, stdout } from '../screen.ts'
import { createProse } from '../terminal/markdown.ts'
import {
  aboutTask,
  cardText,
  createTranscript,
  exitCodeOfTask,
  partText,
  startSpinner,
  tracingOf,
  writeTrace,
} from '../transcript.ts'

/** Adds `corral send`. */
export function addSendCommand(program: Command): void {
  const command = addCommand(program, {
    usage: 'send <url> <text>',
    description:
      'send a message to an agent and show the answer; "-" reads the message from stdin. The answer goes to stdout, the task and its state to stderr',
    examples: [
      'corral send http://localhost:3000 "Write a story about dragons"',
      'corral send http://localhost:3000 "Write a story about dragons" --stream',
      'corral send http://localhost:3000 "Yes, go on" --task 5b3f…',
      'corral send http://localhost:3000 "Write a story about dragons" --trace',
      'git diff | corral send http://localhost:3000 - --json',
    ],
  })
  addClientOptions(command)
    .option('--stream', 'show the answer as it comes; with --json, each event on a line')
    .option('--context <id>', 'go on with this conversation')
    .option('--task <id>', 'answer what this task asked')
    .option('--trace', 'show whom it delegated to, with times and tokens; with --json, in the task')
    .option('--no-wait', 'only start the task and show its id')
    .action(exits(sendCommand))
}

interface SendFlags extends ClientFlags {
  readonly stream?: boolean
  readonly context?: string
  readonly task?: string
  readonly wait: boolean
  readonly trace?: boolean
}

async function sendCommand(url: string, text: string, flags: SendFlags): Promise<number> {
  const message = text === '-' ? await readAll(process.stdin) : text
  const options = {
    ...(flags.context && { contextId: flags.context }),
    ...(flags.task && { taskId: flags.task }),
  }
  return withClient(url, flags, async (client) => {
    const isSeen = flags.stream && stderr.isTTY && !flags.json
    const tracing = await tracingOf(client, flags.trace || isSeen || false)
    const sending = { url, flags, options: { ...options, ...tracing } }
    return flags.stream ? stream(client, message, sending) : answer(client, message, sending)
  })
}

async function readAll(input: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8').trimEnd()
}

/** Where a message goes, and how. */
interface SendCall {
  readonly url: string
  readonly flags: SendFlags
  readonly options: SendOptions
}

async function stream(
  client: A2AClient,
  message: string,
  { url, flags, options }: SendCall,
): Promise<number> {
  const { json = false, trace } = flags
  const transcript = createTranscript({
    json,
    before: flags.task && !json ? await client.getTask(flags.task) : undefined,
  })
  try {
    for await (const event of client.sendAndFollow(message, options)) transcript.show(event)
  } finally {
    transcript.end()
  }
  const task = transcript.task()
  if (!json && task) tell(aboutTask(task, url))
  if (!json && trace) {
    const { extensions = [] } = options
    writeTrace(stderr, task ? await client.getTask(task.id, { extensions }) : {})
  }
  return task ? exitCodeOfTask(task) : 0
}

function tell(text: string): void {
  stderr.write(dim(text), '\n')
}

async function answer(
  client: A2AClient,
  message: string,
  { url, flags, options }: SendCall,
): Promise<number> {
  const { json = false, wait } = flags
  const waiting = { screen: stderr, clock: systemClock, label: () => 'waiting' }
  const spinner = json ? undefined : startSpinner(waiting)
  try {
    const response = await send(client, message, { ...options, wait })
    spinner?.stop()
    return show(response, url, flags)
  } finally {
    spinner?.stop()
  }
}

/** Waits for the answer however long it takes: a server may answer a slow send with the task as it is. */
async function send(
  client: A2AClient,
  message: string,
  { wait, ...options }: SendOptions & { readonly wait: boolean },
): Promise<SendMessageResponse> {
  if (!wait)
    return client.sendMessage(message, { ...options, configuration: { returnImmediately: true } })
  const answer = await client.sendMessage(message, options)
  if ('message' in answer) return answer
  const { state } = answer.task.status
  if (isTerminal(state) || isInterrupted(state)) return answer
  const { extensions } = options
  const tracing = extensions ? { extensions } : {}
  for await (const _ of client.follow(answer.task, tracing));
  return { task: await client.getTask(answer.task.id, tracing) }
}

function show(answer: SendMessageResponse, url: string, { json, trace }: SendFlags): number {
  const code = 'task' in answer ? exitCodeOfTask(answer.task) : 0
  if (json) {
    stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
    return code
  }
  const parts = 'task' in answer ? answerParts(answer.task) : answer.message.parts
  if (parts.length > 0) {
    const prose = createProse(stdout)
    prose.write(`${parts.map(partText).join('')}\n`)
    prose.end()
  }
  if ('task' in answer) tell(aboutTask(answer.task, url))
  if (trace) writeTrace(stderr, 'task' in answer ? answer.task : {})
  return code
}

/** Adds `corral card`. */
export function addCardCommand(program: Command): void {
  const command = addCommand(program, {
    usage: 'card <url>',
    description: 'show the card of an agent',
    examples: [
      'corral card http://localhost:3000',
      'corral card http://localhost:3000 --json | jq .skills',
    ],
  })
  addClientOptions(command)
    .option('--extended', 'the card for authenticated callers')
    .action(exits(cardCommand))
}

interface CardFlags extends ClientFlags {
  readonly extended?: boolean
}

async function cardCommand(url: string, flags: CardFlags): Promise<number> {
  const card = await withClient(url, flags, (client) =>
    flags.extended ? client.getExtendedAgentCard() : client.fetchAgentCard(),
  )
  stdout.write(`${flags.json ? JSON.stringify(card, null, 2) : cardText(card)}\n`)
  return 0
}
