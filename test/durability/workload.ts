import { A2AClient } from '../../src/client/client.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import type { Message, StreamResponse, Task } from '../../src/protocol/types.ts'
import { type Caller, Refusal } from './caller.ts'
import { answerTo, isSettled, questionOf } from './dialogues.ts'
import type { Hooks } from './hooks.ts'
import type { Entry, Ledger } from './ledger.ts'
import { Listening } from './listening.ts'
import type { ServerProcess } from './process.ts'
import type { Random } from './random.ts'

/** What callers work with. */
export interface Surroundings {
  readonly server: Pick<ServerProcess, 'url' | 'up' | 'gone'>
  readonly caller: Caller
  readonly hooks: Hooks
  readonly ledger: Ledger
  readonly random: Random
  /** What callers do; a bit of everything if absent. */
  readonly plan?: readonly Operation[]
  /** Told of every sign of life. */
  sign(): void
  /** Told when a task is where a kill is of interest. */
  reached?(point: 'input' | 'stream' | 'cancel', taskId: string): void
}

/** A message that is known by its name for ever after: the name is its text. */
interface Sending {
  readonly agent: string
  readonly name: string
  readonly message: Message
  readonly configuration: object
}

const operations = {
  blocking: sendOnce,
  immediate: sendOnce,
  keyed: sendWithKey,
  follow: followStream,
  walk: followFromElsewhere,
  client: followByClient,
  cancel: sendAndCancel,
  converse,
  team: sendOnce,
  read: readBack,
} as const

/** What a caller can do. */
export type Operation = keyof typeof operations

const everything: readonly Operation[] = [
  ...['blocking', 'immediate', 'keyed', 'keyed', 'follow', 'follow', 'client'],
  ...['cancel', 'cancel', 'team', 'team', 'read', 'read'],
  ...Array.from({ length: 5 }, () => 'converse'),
] as Operation[] // the names above

const talkers = ['ask', 'flow', 'nested', 'pair', 'press', 'distant', 'guide']

const agentsOf: Readonly<Record<Operation, readonly string[]>> = {
  blocking: ['stream', 'slow'],
  immediate: ['stream', 'slow', 'brittle'],
  keyed: ['stream', 'slow', 'team', 'outing'],
  follow: ['stream', 'team', 'outing'],
  walk: ['walk'],
  client: ['stream', 'team'],
  cancel: ['slow', 'brittle', 'outing', 'outing', 'distant', 'pair', 'nested', 'press'],
  converse: [...talkers, 'press', 'distant'],
  team: ['team', 'outing'],
  read: ['stream'],
}

/**
 * Does one thing after the other until it is told to stop; `number` names the caller. What outlasts two deaths of the
 * server goes on beside the rest: where the server is killed again and again some tasks wait for calmer times.
 */
export async function work(around: Surroundings, number: number, stop: AbortSignal): Promise<void> {
  const { random, server, plan = everything } = around
  const pending = new Set<Promise<void>>()
  for (let count = 0; !stop.aborted; count++) {
    await server.up()
    const operation = random.pick(plan)
    const sending = toSending(around, operation, `${operation}-${number}-${count}`)
    const done = perform(around, operation, sending).finally(() => pending.delete(done))
    pending.add(done)
    await Promise.race([done, twoDeaths(server)])
  }
  await Promise.all(pending)
}

async function twoDeaths(server: Surroundings['server']): Promise<void> {
  await server.gone()
  await server.up()
  await server.gone()
}

async function perform(
  around: Surroundings,
  operation: Operation,
  sending: Sending,
): Promise<void> {
  const { ledger } = around
  try {
    await operations[operation](around, sending)
  } catch (error) {
    ledger.counts[error instanceof Refusal ? 'refused' : 'lost']++
    if (error instanceof Refusal && error.code === taskNotFound)
      ledger.violation(`${sending.name}: an acknowledged task is not there`)
    if (isInternal(error)) ledger.violation(`${sending.name}: ${error}`)
  }
}

const taskNotFound = -32001
const internal = -32603

/** Whether the server answered with what is a bug, whoever asked. */
function isInternal(error: unknown): boolean {
  if (error instanceof A2AError) return error.code === 'internal'
  return error instanceof Refusal && error.code === internal && !error.unavailable
}

/** Sends a task that kills its process, until it is acknowledged. */
export async function sabotage(around: Surroundings, agent: string, name: string): Promise<void> {
  const sending = { ...toSending(around, 'immediate', name), agent }
  around.ledger.keyed.add(name)
  await insist(around, () => send(around, sending, keyOf(sending)))
}

const isImmediate: ReadonlySet<Operation> = new Set(['immediate', 'cancel', 'walk'])

function toSending(around: Surroundings, operation: Operation, name: string): Sending {
  const { random, hooks, ledger } = around
  const isHooked = random.chance(0.4)
  if (isHooked) ledger.hooked.add(name)
  return {
    agent: random.pick(agentsOf[operation]),
    name,
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: `${name}.` }] },
    configuration: {
      ...(isImmediate.has(operation) || random.chance(0.3) ? { returnImmediately: true } : {}),
      ...(isHooked && { taskPushNotificationConfig: { url: hooks.url(name) } }),
    },
  }
}

async function send(
  { caller, ledger }: Surroundings,
  { agent, message, configuration }: Sending,
  headers: Readonly<Record<string, string>> = {},
): Promise<Entry> {
  const params = { message, configuration }
  const method = 'SendMessage'
  const { task } = await caller.call<{ task: Task }>({ agent, method, params, headers })
  return ledger.acknowledge(agent, task)
}

function sendOnce(around: Surroundings, sending: Sending): Promise<Entry> {
  return onceOnly(around, sending, () => send(around, sending))
}

/** Who is refused may take it that the message was not taken in. */
async function onceOnly<T>(
  { ledger }: Surroundings,
  { name }: Sending,
  once: () => Promise<T>,
): Promise<T> {
  try {
    return await once()
  } catch (error) {
    if (error instanceof Refusal) ledger.refused.add(name)
    throw error
  }
}

/** Sends until it is acknowledged, and once more: it must be the same task every time. */
async function sendWithKey(around: Surroundings, sending: Sending): Promise<void> {
  const { ledger } = around
  ledger.keyed.add(sending.name)
  const entry = await insist(around, () => send(around, sending, keyOf(sending)))
  const again = await insist(around, () => send(around, sending, keyOf(sending)))
  if (again.id !== entry.id)
    ledger.violation(`The key ${sending.name} gave two tasks: ${entry.id} and ${again.id}`)
}

function keyOf({ name }: Sending): { 'idempotency-key': string } {
  return { 'idempotency-key': name }
}

/** Does it again after every lost connection and while the server stops, as a client with a key may. */
async function insist<T>({ server, ledger }: Surroundings, once: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      await server.up()
      return await once()
    } catch (error) {
      if (error instanceof Refusal && !error.unavailable) throw error
      ledger.counts.keyedRetries++
    }
  }
}

/** Follows a task across every kill, each time from the last event that was seen. */
async function followStream(around: Surroundings, sending: Sending): Promise<void> {
  const { agent, message, configuration } = sending
  const listening = new Listening(around, agent)
  const params = { message, configuration }
  await onceOnly(around, sending, () =>
    listening.hear({ agent, method: 'SendStreamingMessage', params }),
  )
  const { follower } = listening
  if (!follower) throw new Error('The stream broke before its first event')
  await followOn(around, follower.id, listening)
}

/** Follows a task that may run on another replica than the one that is asked. */
async function followFromElsewhere(around: Surroundings, sending: Sending): Promise<void> {
  around.ledger.keyed.add(sending.name)
  const { id } = await insist(around, () => send(around, sending, keyOf(sending)))
  await followOn(around, id, new Listening(around, sending.agent))
}

/** Listens until the task has ended, over as many connections as that takes. */
async function followOn(
  { ledger, server }: Surroundings,
  id: string,
  listening: Listening,
): Promise<void> {
  const { agent } = listening
  while (!listening.isOver) {
    await server.up()
    const headers = { 'last-event-id': String(listening.seq) }
    try {
      await listening.hear({ agent, method: 'SubscribeToTask', params: { id }, headers })
    } catch (error) {
      if (error instanceof Refusal && error.unavailable) continue
      ledger.violation(`The stream of task ${id} does not go on: ${error}`)
      throw error
    }
  }
}

/** The same through our own client, which resumes by itself. */
async function followByClient(around: Surroundings, sending: Sending): Promise<void> {
  const { ledger, server, sign } = around
  const { agent, message, configuration } = sending
  const client = new A2AClient({
    serverUrl: `${server.url()}/agents/${agent}`,
    retry: { maxRetries: 0 },
  })
  const events: StreamResponse[] = []
  let id = ''
  try {
    const options = { maxReconnects: 1_000_000, configuration }
    for await (const event of client.sendAndFollow(message, options)) {
      sign()
      if (!('task' in event)) events.push(event)
      else id = ledger.acknowledge(agent, event.task).id
    }
    ledger.clients.push({ id, agent, events })
  } finally {
    await client.close()
  }
}

/** Cancels a task while it works, wherever its members are. */
async function sendAndCancel(around: Surroundings, sending: Sending): Promise<void> {
  const { random } = around
  const entry = await sendOnce(around, sending)
  await new Promise((resolve) => setTimeout(resolve, random.between(0, 60)))
  await cancel(around, entry)
}

/** Cancels until it is acknowledged. */
async function cancel(around: Surroundings, { id, agent, task: asked }: Entry): Promise<void> {
  const { caller, ledger } = around
  const question = { agent, method: 'CancelTask', params: { id } }
  const task = await insist(around, () => {
    around.reached?.('cancel', id)
    return caller.call<Task>(question)
  })
  ledger.acknowledge(agent, task, asked)
  ledger.counts.cancels++
}

/** Has a conversation to its end: each answer is sent with a key until it is acknowledged. Now and then the user leaves. */
async function converse(around: Surroundings, sending: Sending): Promise<void> {
  const { random, ledger } = around
  const entry = await sendOnce(around, sending)
  let answered: string | undefined
  for (let count = 1; ; count++) {
    const task = await settled(around, entry, answered)
    const question = questionOf(task)
    answered = task.status.message?.messageId
    if (question === undefined) return
    around.reached?.('input', entry.id)
    if (random.chance(0.1)) return
    if (random.chance(0.15)) return cancel(around, entry)
    const messageId = crypto.randomUUID()
    const text = answerTo(question, sending.name, random)
    const message = { ...sending.message, messageId, taskId: entry.id, parts: [{ text }] }
    entry.maybeContinued = true
    const configuration = random.chance(0.5) ? { returnImmediately: true } : {}
    const headers = { 'idempotency-key': `${sending.name}-${count}` }
    await insist(around, () => send(around, { ...sending, message, configuration }, headers))
    entry.continued.push(messageId)
    ledger.counts.answers++
  }
}

/** Reads a task until it has ended or asks something that is not answered yet. */
async function settled(
  around: Surroundings,
  { id, agent, task }: Entry,
  answered: string | undefined,
): Promise<Task> {
  const question = { agent, method: 'GetTask', params: { id } }
  let seen = task
  for (let ms = 20; ; ms = Math.min(500, ms * 1.5)) {
    const isAnswered = seen.status.message?.messageId === answered && answered !== undefined
    if (isSettled(seen) && !isAnswered) return seen
    await new Promise((resolve) => setTimeout(resolve, ms))
    seen = await insist(around, () => around.caller.call<Task>(question))
  }
}

/** Reads a task that was acknowledged some time ago. */
async function readBack({ caller, ledger, random }: Surroundings): Promise<void> {
  if (ledger.entries.size === 0) return
  const entry = random.pick([...ledger.entries.values()])
  const asked = entry.task
  const params = { id: entry.id }
  try {
    const task = await caller.call<Task>({ agent: entry.agent, method: 'GetTask', params })
    ledger.acknowledge(entry.agent, task, asked)
    ledger.counts.reads++
  } catch (error) {
    if (error instanceof Refusal && !error.unavailable)
      ledger.violation(`Task ${entry.id} was acknowledged and cannot be read: ${error.message}`)
    throw error
  }
}
