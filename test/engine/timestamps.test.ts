import { expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { type Clock, systemClock } from '../../src/shared/clock.ts'
import { ask, createEngineFor, taskOf } from './scene.ts'

const start = Date.parse('2026-11-15T10:00:00Z')

const clocks: Readonly<Record<string, () => Clock>> = {
  'goes on at every look': () => stepping(1),
  'is put back again and again': () => stepping(-1),
}

function stepping(ms: number): Clock {
  let now = start
  return { ...systemClock, now: () => (now += ms) }
}

test.each(Object.entries(clocks))(
  'no task goes back in time where the clock %s',
  async (_, clock) => {
    const agent = defineAgent({ name: 'Asking' }, async function* (_message, turn) {
      if (turn.number > 1) yield turn.status('TASK_STATE_WORKING', 'Hm')
      yield turn.ask('Which one?')
    })
    const { engine, store, scope } = createEngineFor(agent, { clock: clock() })
    const { id } = taskOf(await ask(engine, 'go'))
    await ask(engine, 'this one', { taskId: id })
    await engine.tasksOf(scope).update({ ...(await engine.get(id, scope)), status: failed })
    const times = (await store.records(id, 0)).flatMap((record) => {
      if (record.kind !== 'event') return []
      if ('task' in record.event) return record.event.task.status.timestamp ?? ''
      return 'statusUpdate' in record.event
        ? (record.event.statusUpdate.status.timestamp ?? '')
        : []
    })
    expect(times).toHaveLength(6)
    expect(times).toEqual([...times].sort())
  },
)

const failed = { state: 'TASK_STATE_FAILED' } as const
