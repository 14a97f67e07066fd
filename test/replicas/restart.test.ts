import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import type { Wild } from '../contracts/binding.ts'
import { describePostgres } from '../support/postgres.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { openReplicas, type Replica, saying, stateAt } from './scene.ts'

describePostgres('a PostgreSQL that is killed under load and started again', () => {
  test('has every task that was acknowledged, and the replicas end them all', async () => {
    const postgres = await startPostgres({ durable: true })
    onTestFinished(() => postgres.stop())
    const database = { url: postgres.url, newSchema: () => 'corral', query: async () => [] }
    const replicas = openReplicas(database, working)
    const all = [await replicas.open(), await replicas.open()]
    const [first] = all
    if (!first) throw new Error('There is no replica')
    const loads = all.map((replica) => keepSending(replica))
    for (let kills = 0; kills < 2; kills++) {
      const acknowledged = loads.map(({ ids }) => ids.length)
      await replicas.until(() =>
        loads.every(({ ids }, i) => ids.length > (acknowledged[i] ?? 0) + 5),
      )
      await postgres.restart()
      const restarted = loads.map(({ ids }) => ids.length)
      await replicas.until(() => loads.every(({ ids }, i) => ids.length > (restarted[i] ?? 0) + 5))
    }
    for (const { stop } of loads) await stop()
    for (const { ids, refusals } of loads) {
      for (const one of refusals) expect(one).toContain('UNAVAILABLE')
      for (const id of ids)
        await replicas.until(async () => (await stateAt(first, id)) === 'TASK_STATE_COMPLETED')
    }
  }, 120_000)
})

/** Takes three steps, each of them in the log before the next. */
const working = defineAgent({ name: 'Working', resumable: true }, async function* (_message, turn) {
  for (const name of ['one', 'two', 'three']) yield `${await turn.step(name, () => name)} `
})

/** Sends one message after the other, and keeps what was acknowledged and what was refused. */
function keepSending({ wire }: Replica) {
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
