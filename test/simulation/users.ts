import { A2AError, toA2AError } from '../../src/protocol/errors.ts'
import type { Call } from '../../src/protocol/operations.ts'
import { isTerminal } from '../../src/protocol/task.ts'
import type { EventStream, SendMessageRequest, Task } from '../../src/protocol/types.ts'
import type { Scope } from '../../src/store/store.ts'
import { randomPlan } from './agent.ts'
import {
  endsStream,
  hasTurnEnd,
  type Ledger,
  type Outcome,
  type Read,
  type Sent,
  type Shown,
  type Watched,
} from './ledger.ts'
import { agentId, type Replica } from './replica.ts'
import { createChanges } from './user-changes.ts'
import type { World } from './world.ts'

/** What users need. */
export interface UsersOptions {
  readonly world: World
  readonly ledger: Ledger
  /** The replicas behind the load balancer. */
  replicas(): readonly Replica[]
}

/** People who talk to any replica, and go to another one where theirs is gone. */
export interface Users {
  /** Does one thing at random. */
  act(): void
  /** How many calls have neither an answer nor lost their replica. */
  readonly waiting: number
}

/** What somebody is told of a message: its task, and whether that has ended, as its answer. */
interface Answered {
  readonly taskId: string
  readonly ended: boolean
}

const scope: Scope = { agent: agentId, tenant: '', owner: '' }

/** Makes the users of a world. */
export function createUsers({ world, ledger, replicas }: UsersOptions): Users {
  const { random } = world
  const tasks: string[] = []
  let count = 0
  let waiting = 0

  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => world.after(ms, { what: 'a user waits', happen: resolve }))

  /** Lets a replica do something; `cut` where it dies before its answer has left. */
  async function ask<T>(replica: Replica, work: () => Promise<T>): Promise<T | 'cut' | A2AError> {
    const { process } = replica
    waiting++
    try {
      return await new Promise<T | 'cut' | A2AError>((resolve) => {
        const answer = (value: T | A2AError): void => {
          if (process.alive)
            world.after(0.2, { what: 'a user is told', happen: () => resolve(value) })
        }
        process.onCrash(() =>
          world.after(2, { what: 'a user is cut off', happen: () => resolve('cut') }),
        )
        world.after(0.1 + random.next(), {
          what: 'a user asks',
          process,
          happen: () => work().then(answer, (thrown) => answer(toA2AError(thrown))),
        })
        if (!process.alive) resolve('cut')
      })
    } finally {
      waiting--
    }
  }

  const changes = createChanges({ random, ledger, ask, anyReplica, scope, next: () => ++count })

  /** A replica that takes requests; waits for one. */
  async function anyReplica(): Promise<Replica> {
    for (;;) {
      const ready = replicas().filter((one) => one.ready)
      if (ready.length > 0) return random.pick(ready)
      waiting++
      await sleep(50)
      waiting--
    }
  }

  async function send(sent: Sent, request: SendMessageRequest): Promise<void> {
    const call: Call = sent.key === undefined ? {} : { idempotencyKey: sent.key }
    const style = random.pick(['wait', 'immediately', 'stream'] as const)
    for (let tries = 0; tries < 10; tries++) {
      const replica = await anyReplica()
      const told = await ask(replica, async () => {
        const result = await replica.engine.send(request, call)
        if (style === 'stream')
          return read(replica, result.events(), (taskId) => {
            // A stream that continues a task begins with the task as it was before.
            if (request.message.taskId === undefined) noteTask(sent, taskId)
          })
        if (style === 'immediately') return { taskId: (await result.task()).id, ended: false }
        const answer = await result.answer.wait()
        if (!('task' in answer)) throw new A2AError('internal', 'The answer is a message')
        return { taskId: answer.task.id, ended: isTerminal(answer.task.status.state) }
      })
      sent.outcome = outcomeOf(told)
      if (told !== 'cut' && !(told instanceof A2AError)) {
        noteTask(sent, told.taskId)
        sent.ended = told.ended
        return
      }
      // Only a message with a key can be sent again by somebody who does not know what became of it.
      if (sent.key === undefined || !isWorthRepeating(told)) return
      await sleep(random.between(20, 300))
    }
  }

  function noteTask(sent: Sent, taskId: string): void {
    sent.acknowledged = true
    if (sent.taskId !== undefined && sent.taskId !== taskId)
      ledger.violate(`message ${sent.messageId} was to be in ${sent.taskId}, and is in ${taskId}`)
    sent.taskId = taskId
    if (!tasks.includes(taskId)) tasks.push(taskId)
  }

  /** Notes what a stream has brought; what a process does as it dies reaches nobody. */
  function note(entry: Watched, { process }: Replica, shown: Pick<Shown, 'seq' | 'event'>): void {
    if (process.alive) entry.seen.push({ ...shown, at: world.now(), process: process.name })
  }

  /** Reads the stream of a message to its end. */
  async function read(
    replica: Replica,
    stream: EventStream,
    acknowledged: (taskId: string) => void,
  ): Promise<Answered> {
    const entry: Watched = {
      taskId: '',
      toEnd: false,
      since: world.now(),
      seen: [],
      outcome: 'open',
    }
    ledger.streams.push(entry)
    replica.process.onCrash(() => {
      entry.outcome = 'cut'
    })
    for await (const items of stream)
      for (const { seq = 0, event } of items) {
        note(entry, replica, { seq, event })
        if (!('task' in event)) continue
        entry.taskId = event.task.id
        acknowledged(entry.taskId)
      }
    // A replica that stops ends its streams: then nobody knows what became of the message.
    if (!hasTurnEnd(entry)) throw new A2AError('unavailable', 'The stream ended early')
    entry.outcome = 'answered'
    return { taskId: entry.taskId, ended: endsStream(entry) }
  }

  function begin(): void {
    const key = random.chance(0.6) ? `key ${++count}` : undefined
    const isTwice = key !== undefined && random.chance(0.3)
    const messageId = `message ${++count}`
    const text = JSON.stringify(randomPlan(world))
    for (let i = 0; i < (isTwice ? 2 : 1); i++) {
      const sent: Sent = {
        messageId,
        taskId: undefined,
        acknowledged: false,
        outcome: 'open',
        ...(key && { key }),
      }
      ledger.sends.push(sent)
      void send(sent, { message: { messageId, role: 'ROLE_USER', parts: [{ text }] } })
    }
  }

  function goOn(taskId: string): void {
    const messageId = `message ${++count}`
    const key = random.chance(0.5) ? `key ${++count}` : undefined
    const text = JSON.stringify(randomPlan(world))
    const sent: Sent = {
      messageId,
      taskId,
      acknowledged: false,
      outcome: 'open',
      ...(key && { key }),
    }
    ledger.sends.push(sent)
    void send(sent, { message: { messageId, role: 'ROLE_USER', parts: [{ text }], taskId } })
  }

  async function cancel(taskId: string): Promise<void> {
    const replica = await anyReplica()
    const entry = { taskId, acknowledged: false, outcome: 'open' as Outcome }
    ledger.cancels.push(entry)
    const told = await ask(replica, () => replica.engine.cancel(taskId, scope))
    entry.outcome = outcomeOf(told)
    entry.acknowledged = isTask(told)
  }

  async function look(taskId: string): Promise<void> {
    const replica = await anyReplica()
    const entry: Read = { taskId, process: replica.process.name, from: world.now() }
    ledger.reads.push(entry)
    const told = await ask(replica, () => replica.engine.get(taskId, scope))
    entry.to = world.now()
    if (told instanceof A2AError && told.code === 'taskNotFound')
      ledger.violate(`task ${taskId} was acknowledged and is not found`)
  }

  /** Watches a task to its end, on one replica after the other. */
  async function follow(taskId: string): Promise<void> {
    const entry: Watched = { taskId, toEnd: true, since: world.now(), seen: [], outcome: 'open' }
    ledger.streams.push(entry)
    while (entry.outcome === 'open') {
      const replica = await anyReplica()
      const lastEventId = entry.seen.at(-1)?.seq
      const told = await ask(replica, async () => {
        const start = lastEventId === undefined ? {} : { lastEventId }
        const stream = await replica.engine.subscribe(taskId, scope, start)
        for await (const items of stream)
          for (const { seq = 0, event } of items) note(entry, replica, { seq, event })
        return 'over'
      })
      if (told instanceof A2AError && !isWorthRepeating(told)) entry.outcome = told
      if (endsStream(entry)) entry.outcome = 'answered'
      await sleep(random.between(10, 100))
    }
  }

  function actOn(taskId: string | undefined): void {
    const dice = random.next()
    if (taskId === undefined || dice < 0.22) begin()
    else if (dice < 0.5) goOn(taskId)
    else if (dice < 0.57) void cancel(taskId)
    else if (dice < 0.74) void follow(taskId)
    else if (dice < 0.84) void changes.change(taskId)
    else if (dice < 0.94) void changes.hook(taskId)
    else void look(taskId)
  }

  return {
    get waiting() {
      return waiting
    },
    act() {
      const taskId = tasks.length > 0 ? random.pick(tasks) : undefined
      // Now and then several want something of one task at the same moment.
      const times = random.chance(0.15) ? random.between(2, 4) : 1
      for (let i = 0; i < times; i++) actOn(taskId)
    },
  }
}

function outcomeOf(told: unknown): Outcome {
  return told === 'cut' || told instanceof A2AError ? told : 'answered'
}

/** Whether it may be another time, or elsewhere, that it works. */
function isWorthRepeating(told: unknown): boolean {
  return told === 'cut' || (told instanceof A2AError && told.code === 'unavailable')
}

function isTask(told: Task | 'cut' | A2AError): told is Task {
  return told !== 'cut' && !(told instanceof A2AError)
}
