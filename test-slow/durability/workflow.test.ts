import { expect, test } from 'vitest'
import { answerParts, textOf } from '../../src/protocol/task.ts'
import { readEffects } from '../../test/durability/effects.ts'
import { immediately, open } from '../../test/durability/scene.ts'

test('a workflow of three steps that is killed in step 2 ends after a restart without step 1 again', async () => {
  const { server, effects, send, settled } = await open()
  const { id } = await send('team', 'hold second', { configuration: immediately })
  await expect.poll(() => readEffects(effects).map(({ member }) => member)).toContain('second')
  await server.kill()
  await server.start()
  const task = await settled('team', id)

  expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  const ran = readEffects(effects)
  expect(ran.map(({ member }) => member)).toEqual(['first', 'second', 'second', 'third'])
  const [first, , second, third] = ran.map(({ member, nonce }) => `${member}=${nonce}`)
  expect(textOf(answerParts(task))).toBe(`hold second ${first} ${second} ${third}`)
})

test('an agent that cannot resume fails its task with a reason that says so', async () => {
  const { server, send, get } = await open()
  const { id } = await send('brittle', 'take 3600000', { configuration: immediately })
  await server.kill()
  await server.start()
  const { status } = await get('brittle', id)
  expect(status.state).toBe('TASK_STATE_FAILED')
  expect(textOf(status.message?.parts ?? [])).toBe(
    'The server restarted while this task was running, and its agent cannot resume',
  )
})

test('a task that kills its process at once is given up when it has died alone twice', async () => {
  const { server, effects, send, get } = await open()
  const { id } = await send('poison', 'hello', { configuration: immediately })
  for (const runs of [2, 3, 4]) {
    await server.kill()
    // It dies before it listens, or just after.
    await server.start().catch(() => {})
    await expect.poll(() => readEffects(effects)).toHaveLength(runs)
  }
  await server.kill()
  await server.start()
  const { status } = await get('poison', id)
  expect(status.state).toBe('TASK_STATE_FAILED')
  expect(textOf(status.message?.parts ?? [])).toContain('stopped 4 times')
  expect(readEffects(effects)).toHaveLength(4)
})
