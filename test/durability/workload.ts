import { A2AClient } from '../../src/client/client.ts'
import { isTerminal } from '../../src/protocol/task.ts'
import type { Message, StreamResponse, Task } from '../../src/protocol/types.ts'
import { type Caller, Refusal, type Told } from './caller.ts'
import type { Hooks } from './hooks.ts'
import type { Entry, Follower, Ledger } from './ledger.ts'
import type { ServerProcess } from './process.ts'
import type { Random } from './random.ts'

/** What callers work with. */
export interface Surroundings {
  readonly server: ServerProcess
  readonly caller: Caller
  readonly hooks: Hooks
  readonly ledger: Ledger
  readonly random: Random
  /** Told of every sign of life. */
  sign(): void
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
  client: followByClient,
  cancel: sendAndCancel,
  continue: converse,
  team: sendOnce,
  read: readBack,
} as const

type Operation = keyof typeof operations

const plan: readonly Operation[] = [
  ...['blocking', 'immediate', 'keyed', 'keyed', 'follow', 'follow', 'client'],
  ...['cancel', 'continue', 'continue', 'team', 'team', 'team', 'read', 'read'],
] as Operation[] // the names above

const agentsOf: Readonly<Record<Operation, readonly string[]>> = {
  blocking: ['stream', 'slow'],
  immediate: ['stream', 'slow', 'brittle'],
  keyed: ['stream', 'slow', 'team'],
  follow: ['stream', 'team'],
  client: ['stream', 'team'],
  cancel: ['slow', 'brittle'],
  continue: ['ask'],
  team: ['team'],
  read: ['stream'],
}

/** Does one thing after the other until it is told to stop; `number` names the caller. */
export async function work(around: Surroundings, number: number, stop: AbortSignal): Promise<void> {
  const { random, server, ledger } = around
  for (let count = 0; !stop.aborted; count++) {
    await server.up()
    const operation = random.pick(plan)
    const sending = toSending(around, operation, `${operation}-${number}-${count}`)
    try {
      await operations[operation](around, sending)
    } catch (error) {
      ledger.counts[error instanceof Refusal ? 'refused' : 'lost']++
      if (error instanceof Refusal && error.code === taskNotFound)
        ledger.violation(`${sending.name}: an acknowledged task is not there`)
    }
  }
}

const taskNotFound = -32001

function toSending(around: Surroundings, operation: Operation, name: string): Sending {
  const { random, hooks, ledger } = around
  const isHooked = random.chance(0.4)
  if (isHooked) ledger.hooked.add(name)
  return {
    agent: random.pick(agentsOf[operation]),
    name,
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: `${name}.` }] },
    configuration: {
      ...(operation === 'immediate' || operation === 'cancel' || random.chance(0.3)
        ? { returnImmediately: true }
        : {}),
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

async function sendOnce(around: Surroundings, sending: Sending): Promise<void> {
  await send(around, sending)
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

/** Does it again after every lost connection, as a client with a key may. */
async function insist<T>({ server, ledger }: Surroundings, once: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      await server.up()
      return await once()
    } catch (error) {
      if (error instanceof Refusal) throw error
      ledger.counts.keyedRetries++
    }
  }
}

/** Follows a task across every kill, each time from the last event that was seen. */
async function followStream(around: Surroundings, sending: Sending): Promise<void> {
  const { caller, ledger, server, sign } = around
  const { agent, message, configuration } = sending
  let follower: Follower | undefined
  const hear = (told: Told): void => {
    sign()
    follower ??= begin(ledger, agent, told)
    follower.seen.push(told)
  }
  const params = { message, configuration }
  await listen(caller.stream({ agent, method: 'SendStreamingMessage', params }), hear)
  if (!follower) throw new Error('The stream broke before its first event')
  while (!hasEnded(follower.seen.at(-1)?.event)) {
    await server.up()
    follower.connections++
    const headers = { 'last-event-id': String(follower.seen.at(-1)?.seq) }
    const question = { agent, method: 'SubscribeToTask', params: { id: follower.id }, headers }
    try {
      await listen(caller.stream(question), hear)
    } catch (error) {
      ledger.violation(`The stream of task ${follower.id} does not go on: ${error}`)
      throw error
    }
  }
}

function begin(ledger: Ledger, agent: string, { event }: Told): Follower {
  if (!('task' in event)) throw new Error('A stream begins with its task')
  ledger.acknowledge(agent, event.task)
  const follower: Follower = { id: event.task.id, agent, seen: [], connections: 1 }
  ledger.followers.push(follower)
  return follower
}

/** Reads a stream until it ends or breaks. */
async function listen(stream: AsyncGenerator<Told>, hear: (told: Told) => void): Promise<void> {
  try {
    for await (const told of stream) hear(told)
  } catch (error) {
    if (error instanceof Refusal) throw error
  }
}

function hasEnded(event: StreamResponse | undefined): boolean {
  if (!event || 'message' in event || 'artifactUpdate' in event) return false
  return isTerminal(('task' in event ? event.task : event.statusUpdate).status.state)
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

async function sendAndCancel(around: Surroundings, sending: Sending): Promise<void> {
  const { caller, ledger } = around
  const { agent } = sending
  const { id, task: asked } = await send(around, sending)
  const task = await caller.call<Task>({ agent, method: 'CancelTask', params: { id } })
  ledger.acknowledge(agent, task, asked)
  ledger.counts.cancels++
}

/** Has a conversation: the agent asks, the answer is sent with a key until it is acknowledged. */
async function converse(around: Surroundings, sending: Sending): Promise<void> {
  const { random } = around
  const entry = await send(around, { ...sending, configuration: { ...sending.configuration } })
  if (entry.task.status.state !== 'TASK_STATE_INPUT_REQUIRED' || random.chance(0.2)) return
  const messageId = crypto.randomUUID()
  const message = { ...sending.message, messageId, taskId: entry.id }
  entry.maybeContinued = true
  const configuration = random.chance(0.5) ? { returnImmediately: true } : {}
  const answer = { ...sending, message, configuration }
  await insist(around, () => send(around, answer, { 'idempotency-key': `${sending.name}-answer` }))
  entry.continued.push(messageId)
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
    if (error instanceof Refusal)
      ledger.violation(`Task ${entry.id} was acknowledged and cannot be read: ${error.message}`)
    throw error
  }
}
