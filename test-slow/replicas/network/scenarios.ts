import type { Agent, Turn } from '../../../src/agents/agent.ts'
import { defineAgent } from '../../../src/agents/function.ts'
import { textOf } from '../../../src/protocol/task.ts'
import type { Task } from '../../../src/protocol/types.ts'
import { createDeferred, withSignal } from '../../../src/shared/async.ts'
import type { Wild } from '../../../test/contracts/binding.ts'
import type { SeenEvent } from '../../../test/replicas/subscription.ts'
import { type Stage, say } from './stage.ts'

/** What a user does with two replicas, and what must come of it whatever happens between them and their database. */
export interface NetworkScenario {
  readonly name: string
  play(): Play
}

/** One run of a scenario. */
export interface Play {
  agent(stage: () => Stage): Agent
  /** Does it, and says what is wrong. */
  talk(stage: Stage): Promise<readonly string[]>
}

/** Steps whose beginnings are watched: one that the log has may not begin again. */
function createSteps(stage: () => Stage) {
  const again: string[] = []
  return {
    again,
    async step(turn: Turn, name: string, work: (turn: Turn) => Promise<string>): Promise<string> {
      return turn.step(name, async (values) => {
        const log = await stage().logOf(turn.taskId)
        if (log.includes(`"name":"${name}"`)) again.push(`the finished step ${name} was run again`)
        return work({ ...turn, context: values })
      })
    },
  }
}

/** Two steps, a value of the conversation, a webhook, and a message that the other replica forwards. */
const conversation: NetworkScenario = {
  name: 'a conversation',
  play() {
    const isTwo = createDeferred<void>()
    const isForwarded = createDeferred<void>()
    let again: readonly string[] = []
    return {
      agent(stage) {
        const steps = createSteps(stage)
        again = steps.again
        return defineAgent({ name: 'Network', resumable: true }, async function* (message, turn) {
          if (textOf(message.parts) === 'go') {
            yield await steps.step(turn, 'one', async ({ context }) => {
              context.set('count', Number((await context.get('count')) ?? 0) + 1)
              return 'one '
            })
            yield await steps.step(turn, 'two', async () => {
              isTwo.resolve()
              await withSignal(isForwarded.promise, turn.signal)
              return 'two '
            })
            yield turn.ask('More?')
          } else
            yield await steps.step(turn, 'three', async ({ context }) => {
              return `three with ${await context.get('count')}`
            })
        })
      },
      async talk(stage) {
        const { receiver } = stage
        const { id } = await say(stage, 'a', { text: 'go', webhook: receiver.url })
        const { toEnd } = await stage.follow(id)
        await isTwo.promise
        await say(stage, 'b', { text: 'more', taskId: id })
        isForwarded.resolve()
        const seen = await toEnd
        const wrong = [...again, ...wrongIn(seen)]
        const task: Task = await stage.ask('b', 'GetTask', { id })
        const answer = task.artifacts?.map(({ parts }) => textOf(parts)).join('|')
        if (answer !== expectedAnswer) wrong.push(`${task.status.state}, the answer is ${answer}`)
        if (shownBy(seen) !== answer) wrong.push(`the stream showed ${shownBy(seen)}`)
        const heard = (task.history ?? []).filter(({ role }) => role === 'ROLE_USER')
        if (heard.map(({ parts }) => textOf(parts)).join() !== 'go,more')
          wrong.push(`the history is ${JSON.stringify(heard)}`)
        await delivered(stage, task.status.state)
        return wrong
      },
    }
  },
}

const expectedAnswer = 'one two |three with 1'

/** A task that works, and a cancel that the other replica forwards. */
const cancellation: NetworkScenario = {
  name: 'a cancellation',
  play() {
    const isTwo = createDeferred<void>()
    let again: readonly string[] = []
    return {
      agent(stage) {
        const steps = createSteps(stage)
        again = steps.again
        return defineAgent({ name: 'Network', resumable: true }, async function* (_, turn) {
          yield await steps.step(turn, 'one', async () => 'one ')
          yield await steps.step(turn, 'two', async () => {
            isTwo.resolve()
            return withSignal(new Promise<string>(() => {}), turn.signal)
          })
        })
      },
      async talk(stage) {
        const { id } = await say(stage, 'a', { text: 'go' })
        const { toEnd } = await stage.follow(id)
        await isTwo.promise
        await stage.ask('b', 'CancelTask', { id })
        const wrong = [...again, ...wrongIn(await toEnd)]
        const task: Task = await stage.ask('b', 'GetTask', { id })
        if (task.status.state !== 'TASK_STATE_CANCELED') wrong.push(`it is ${task.status.state}`)
        return wrong
      },
    }
  },
}

export const networkScenarios: readonly NetworkScenario[] = [conversation, cancellation]

/** What is wrong with a stream, whatever it shows: each event comes once, in its order. */
function wrongIn(seen: readonly SeenEvent[]): readonly string[] {
  const ids = seen.map(({ id }) => id)
  const ordered = [...new Set(ids)].toSorted((one, other) => one - other)
  return ids.join() === ordered.join() ? [] : [`the stream came as ${ids.join()}`]
}

/** What a reader of a stream has put together. */
function shownBy(seen: readonly SeenEvent[]): string {
  const texts = new Map<string, string>()
  for (const { event } of seen) {
    for (const artifact of event.task?.artifacts ?? [])
      texts.set(artifact.artifactId, textOf(artifact.parts))
    const { artifact, append } = event.artifactUpdate ?? {}
    if (artifact)
      texts.set(
        artifact.artifactId,
        (append ? (texts.get(artifact.artifactId) ?? '') : '') + textOf(artifact.parts),
      )
  }
  return [...texts.values()].join('|')
}

/** Waits until the webhook has heard of a state. */
async function delivered({ receiver }: Stage, state: string): Promise<void> {
  const states = (): readonly string[] =>
    receiver.requests.map(({ body }) => {
      const { task, statusUpdate }: Wild = JSON.parse(body)
      return (task ?? statusUpdate)?.status.state
    })
  while (!states().includes(state)) await receiver.received(receiver.requests.length + 1)
}
