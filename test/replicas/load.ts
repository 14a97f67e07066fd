import { setTimeout as sleep } from 'node:timers/promises'
import { defineAgent } from '../../src/agents/function.ts'
import type { Wild } from '../contracts/binding.ts'
import { type Replica, saying } from './scene.ts'

/** A caller that sends all the time. */
export interface Load {
  /** The tasks that were acknowledged. */
  readonly ids: readonly string[]
  /** What was answered instead of a task. */
  readonly refusals: readonly string[]
  stop(): Promise<void>
}

/** Takes three steps, each of them in the log before the next. */
export const working = defineAgent(
  { name: 'Working', resumable: true },
  async function* (_message, turn) {
    for (const name of ['one', 'two', 'three']) yield `${await turn.step(name, () => name)} `
  },
)

/** Sends one message after the other, and keeps what was acknowledged and what was refused. */
export function keepSending({ wire }: Replica): Load {
  const ids: string[] = []
  const refusals: string[] = []
  let isOver = false
  const done = (async () => {
    while (!isOver) {
      const configuration = { returnImmediately: true }
      const asked: Wild = saying('go', undefined, { configuration })
      const { result, body } = await wire.ask('SendMessage', asked)
      if (result?.task) ids.push(result.task.id)
      else {
        refusals.push(JSON.stringify(body))
        await sleep(50)
      }
    }
  })()
  return {
    ids,
    refusals,
    stop() {
      isOver = true
      return done
    },
  }
}
