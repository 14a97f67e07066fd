import { expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'
import { begin, openReplicas, saying, stateAt } from './scene.ts'

/** Asks until it hears that this is enough. */
const asks = defineAgent({ name: 'Asks' }, async function* ({ parts }, turn) {
  const isEnough = textOf(parts) === 'enough'
  yield turn.status(isEnough ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_INPUT_REQUIRED')
})

describePostgres('a replica, while another client has locked the row of a task', () => {
  const database = usePostgres()

  test('commits all other tasks, and that one in its order when it is free', async () => {
    const replicas = openReplicas(database, asks, 'never')
    const one = await replicas.open()
    const id = await begin(one, 'hello')
    await expect.poll(() => stateAt(one, id)).toBe('TASK_STATE_INPUT_REQUIRED')
    await database.query('BEGIN')
    await database.query(`SELECT 1 FROM ${replicas.schema}.task FOR UPDATE`)
    let isHeld = true
    const answered = one.wire.ask('SendMessage', saying('more', id)).finally(() => {
      isHeld = false
    })
    for (let i = 0; i < 20; i++) {
      const { result } = await one.wire.ask('SendMessage', saying('enough'))
      expect(result?.task.status.state).toBe('TASK_STATE_COMPLETED')
    }
    expect(isHeld).toBe(true)
    await database.query('COMMIT')
    expect((await answered).result?.task.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const seqs = (await one.store.records(id, 0)).map(({ seq }) => seq)
    expect(seqs).toEqual(seqs.map((_, i) => i + 1))
  })
})
