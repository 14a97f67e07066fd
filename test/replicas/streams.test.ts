import { expect, test } from 'vitest'
import { describePostgres, usePostgres } from '../support/postgres.ts'
import { begin, openReplicas, stateAt } from './scene.ts'
import { createStepper } from './stepper.ts'
import { lastStateOf, type Subscription, subscribe, textOf } from './subscription.ts'

const completed = 'TASK_STATE_COMPLETED'

describePostgres('streams of a task at several replicas', () => {
  const database = usePostgres()

  test('another replica gives the snapshot and every event that follows', async () => {
    const agent = createStepper(3)
    // Nobody looks again by himself: each event is told.
    const replicas = openReplicas(database, agent, 'never')
    const [a, b] = [await replicas.open(), await replicas.open()]
    const id = await begin(a, 'go')
    agent.pass(1)
    await replicas.until(() => agent.begun.length === 2)
    const watched = await subscribe(b, id)
    await replicas.until(() => watched.seen.length > 0)
    expect(watched.seen[0]?.event.task.id).toBe(id)
    agent.pass(1)
    await replicas.until(() => textOf(watched) === '1 2 ')
    agent.pass(1)
    await watched.ended
    expect(textOf(watched)).toBe('1 2 3 ')
    expect(lastStateOf(watched)).toBe(completed)
    expectInOrder(watched)
  })

  test('whoever comes back with Last-Event-ID to a third replica misses nothing and hears nothing twice', async () => {
    const agent = createStepper(4)
    const replicas = openReplicas(database, agent, 'never')
    const [a, b, c] = [await replicas.open(), await replicas.open(), await replicas.open()]
    const id = await begin(a, 'go')
    const first = await subscribe(b, id)
    agent.pass(2)
    await replicas.until(() => textOf(first) === '1 2 ')
    const last = first.seen.at(-1)?.id ?? 0
    const second = await subscribe(c, id, last)
    agent.pass(2)
    await second.ended
    await first.ended
    expect(first.seen.filter((one) => one.id > last)).toEqual(second.seen)
    const third = await subscribe(a, id, last)
    await third.ended
    expect(third.seen).toEqual(second.seen)
  })

  test('a stream goes on at a survivor when the replica that ran the task dies', async () => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open(), await replicas.open()]
    const id = await begin(a, 'go')
    const watched = await subscribe(b, id)
    agent.pass(1)
    await replicas.until(() => textOf(watched) === '1 ' && agent.begun.length === 2)
    a.proxy.kill()
    await replicas.until(() => agent.begun.length === 3)
    agent.pass(2)
    await watched.ended
    expect(textOf(watched)).toBe('1 2 3 ')
    expectInOrder(watched)
    // What was finished was not begun again, what was not was.
    expect(agent.begun.map((key) => key.slice(-1))).toEqual(['1', '2', '2', '3'])
  })

  test('streams at the former and at another replica go on when a task moves', async () => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open(), await replicas.open()]
    const id = await begin(a, 'go')
    const former = a.number
    const watched = [await subscribe(a, id), await subscribe(b, id)]
    agent.pass(1)
    await replicas.until(() => watched.every((one) => textOf(one) === '1 '))
    a.proxy.reset()
    await replicas.until(() => a.number !== former && a.number !== 0)
    await replicas.until(() => agent.begun.length === 3)
    agent.pass(2)
    for (const one of watched) {
      await one.ended
      expect(textOf(one)).toBe('1 2 3 ')
      expect(lastStateOf(one)).toBe(completed)
      expectInOrder(one)
    }
    expect(watched[0]?.seen.slice(1)).toEqual(
      watched[1]?.seen.slice(-((watched[0]?.seen.length ?? 1) - 1)),
    )
  })

  test('many watchers at two replicas hear the same of a task at a third', async () => {
    const agent = createStepper(5)
    const replicas = openReplicas(database, agent, 'never')
    const [a, b, c] = [await replicas.open(), await replicas.open(), await replicas.open()]
    const id = await begin(a, 'go')
    const watched: Subscription[] = []
    for (let i = 0; i < 10; i++) {
      watched.push(await subscribe(i % 2 === 0 ? b : c, id))
      if (i % 3 === 0) agent.pass(1)
    }
    agent.pass(1)
    for (const one of watched) {
      await one.ended
      expect(textOf(one)).toBe('1 2 3 4 5 ')
      expectInOrder(one)
    }
    expect(await stateAt(b, id)).toBe(completed)
  })
})

function expectInOrder({ seen }: Subscription): void {
  const ids = seen.map(({ id }) => id)
  expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other))
}
