import { expect, test } from 'vitest'
import type { LogRecord } from '../../src/store/store.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'
import { begin, openReplicas, type Replica, saying, stateAt } from './scene.ts'
import { createStepper } from './stepper.ts'

const hour = 3_600_000

describePostgres('replicas whose clocks are hours apart', () => {
  const database = usePostgres()

  test('write the time of their database, which never goes back within a task', async () => {
    const replicas = openReplicas(database, createScriptedAgent())
    const ahead = await replicas.open({ clockAheadMs: hour })
    const right = await replicas.open()
    const behind = await replicas.open({ clockAheadMs: -hour })
    const all = [ahead, behind, right]
    const before = await now()
    const { result } = await ahead.wire.ask('SendMessage', saying('ask'))
    const { id } = result.task
    for (let i = 0; i < 12; i++) await all[i % 3]?.wire.ask('SendMessage', saying('ask', id))
    await behind.wire.ask('CancelTask', { id })
    const times = (await right.store.records(id, 0)).flatMap(timeOf)
    expect(times.length).toBeGreaterThan(12)
    expect(times).toEqual([...times].sort((one, other) => one - other))
    // Far less than the clocks are apart, far more than a busy machine pauses.
    expect(times[0] ?? 0).toBeGreaterThan(before - hour / 2)
    expect(times.at(-1) ?? 0).toBeLessThan((await now()) + hour / 2)
  })

  test('keep their leases, and take over from each other', async () => {
    const agent = createStepper(2)
    const replicas = openReplicas(database, agent)
    const ahead = await replicas.open({ clockAheadMs: hour })
    const behind = await replicas.open({ clockAheadMs: -hour })
    const numbers = [ahead.number, behind.number]
    const ids = [await begin(ahead, 'go'), await begin(behind, 'go')]
    await replicas.until(() => agent.begun.length === 2)
    await replicas.until(async () => (await beats(behind)) > 3)
    expect([ahead.number, behind.number]).toEqual(numbers)
    ahead.proxy.kill()
    await replicas.until(async () => (await replicas.runnerOf(ids[0] ?? '')) === behind.number)
    agent.pass(5)
    for (const id of ids)
      await replicas.until(async () => (await stateAt(behind, id)) === 'TASK_STATE_COMPLETED')
  })

  async function now(): Promise<number> {
    const [row] = await database.query('SELECT extract(epoch FROM clock_timestamp()) AS now')
    return Number(row?.now) * 1_000
  }
})

async function beats({ proxy }: Replica): Promise<number> {
  return proxy.statements.filter((one) => one.includes('SET alive_until')).length
}

function timeOf(record: LogRecord): readonly number[] {
  if (record.kind !== 'event') return []
  const { event } = record
  const status = 'task' in event ? event.task.status : undefined
  const { timestamp } = status ?? ('statusUpdate' in event ? event.statusUpdate.status : {})
  return timestamp === undefined ? [] : [Date.parse(timestamp)]
}
