import { expect, test } from 'vitest'
import { describePostgres, usePostgres } from '../support/postgres.ts'
import { begin, openReplicas, stateAt } from './scene.ts'
import { createStepper, type Stepper } from './stepper.ts'

describePostgres('an old and a new build side by side', () => {
  const database = usePostgres()

  test('a task goes on with its own build while any replica has it, then with another', async () => {
    const [old, next] = [ofBuild(1), ofBuild(2)]
    const replicas = openReplicas(database, old)
    const impatient = { foreignBuildAfterMs: 300 }
    const a = await replicas.open()
    const newer = await replicas.open({ agent: next, store: impatient })
    const b = await replicas.open()
    const id = await begin(a, 'go')
    old.pass(1)
    await replicas.until(() => old.begun.length === 2)
    a.proxy.kill()
    await replicas.until(async () => (await replicas.runnerOf(id)) === b.number)
    await replicas.until(() => old.begun.length === 3)
    old.pass(1)
    await replicas.until(() => old.begun.length === 4)
    expect(next.begun).toEqual([])
    b.proxy.kill()
    await replicas.until(async () => (await replicas.runnerOf(id)) === newer.number)
    next.pass(1)
    await replicas.until(async () => (await stateAt(newer, id)) === 'TASK_STATE_COMPLETED')
    expect(next.begun.map((key) => key.slice(-1))).toEqual(['3'])
  })

  test('where nobody else may, a task waits for its own build to come back', async () => {
    const [old, next] = [ofBuild(1), ofBuild(2)]
    const replicas = openReplicas(database, old)
    const a = await replicas.open()
    const newer = await replicas.open({ agent: next, store: { foreignBuildAfterMs: 'fail' } })
    const id = await begin(a, 'go')
    await replicas.until(() => old.begun.length === 1)
    a.proxy.kill()
    await replicas.until(async () => (await newer.store.feed.facts()).orphans === 1)
    const back = await replicas.open()
    await replicas.until(async () => (await replicas.runnerOf(id)) === back.number)
    old.pass(4)
    await replicas.until(async () => (await stateAt(newer, id)) === 'TASK_STATE_COMPLETED')
    expect(next.begun).toEqual([])
  })

  test('a new build takes over from an old one that drains', async () => {
    const [old, next] = [ofBuild(1), ofBuild(2)]
    const replicas = openReplicas(database, old)
    const a = await replicas.open()
    const newer = await replicas.open({ agent: next, store: { foreignBuildAfterMs: 100 } })
    const id = await begin(a, 'go')
    old.pass(2)
    await replicas.until(() => old.begun.length === 3)
    await a.server.close()
    await replicas.until(async () => (await replicas.runnerOf(id)) === newer.number)
    next.pass(1)
    await replicas.until(async () => (await stateAt(newer, id)) === 'TASK_STATE_COMPLETED')
    expect(next.begun.map((key) => key.slice(-1))).toEqual(['3'])
  })
})

function ofBuild(build: number): Stepper {
  const stepper = createStepper(3)
  return { ...stepper, definition: { build } }
}
