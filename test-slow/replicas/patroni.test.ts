import { describe, expect, onTestFinished, test } from 'vitest'
import { keepSending, working } from '../../test/replicas/load.ts'
import { openReplicas, stateAt } from '../../test/replicas/scene.ts'
import { hasPatroni, startPatroni } from '../../test/support/patroni.ts'
import { newSchemaName } from '../../test/support/postgres.ts'
import { queryAt } from './engines.ts'

if (!hasPatroni)
  console.warn(
    'patroni, etcd or Debian’s postgresql is not installed: tests of Patroni are skipped.',
  )

describe.skipIf(!hasPatroni)(
  'two PostgreSQL servers that Patroni looks after, one of them synchronous',
  () => {
    test('lose nothing that was acknowledged when the machine of the primary is lost under load', async () => {
      const cluster = await startPatroni(2)
      onTestFinished(() => cluster.stop())
      const primary = await cluster.primary({ synchronous: true })
      const schema = newSchemaName()
      const database = {
        url: primary.url,
        newSchema: () => schema,
        query: (sql: string) => queryAt(primary.url, sql),
      }
      const replicas = openReplicas(database, working)
      const [a, b] = [await replicas.open(), await replicas.open()]
      const loads = [keepSending(a), keepSending(b)]
      const more = async (): Promise<void> => {
        const before = loads.map(({ ids }) => ids.length)
        await replicas.until(() => loads.every(({ ids }, i) => ids.length > (before[i] ?? 0) + 20))
      }
      await more()
      primary.kill()
      let next = await cluster.primary()
      while (next === primary) next = await cluster.primary()
      for (const { proxy } of [a, b]) proxy.lead(next.url)
      await more()
      for (const { stop } of loads) await stop()
      const ids = loads.flatMap((load) => load.ids)
      for (const id of ids)
        await replicas.until(async () => (await stateAt(b, id)) === 'TASK_STATE_COMPLETED')
      expect(ids.length).toBeGreaterThan(80)
    })
  },
)
