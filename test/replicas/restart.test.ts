import { expect, onTestFinished, test } from 'vitest'
import { describePostgres } from '../support/postgres.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { keepSending, working } from './load.ts'
import { openReplicas, stateAt } from './scene.ts'

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
  })
})
