import { expect, test } from 'vitest'
import { traceExtension } from '../../src/protocol/extensions.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'
import { createServer } from '../../src/server/index.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { defineTeam } from '../../src/team/team.ts'
import { member, untilCancelled } from '../fixtures/members.ts'

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } as const

test('a team goes on where it was when its process comes back', async () => {
  const store = createMemoryStore()
  const [first, last] = [member('first'), member('last')]
  let alive = false
  const middle = member('middle', (text, turn) =>
    alive ? `middle(${text})` : untilCancelled(turn),
  )
  const team = defineTeam({
    id: 'team',
    name: 'Team',
    agents: { first, middle, last },
    scheduler: {
      type: 'workflow',
      steps: [{ agentId: 'first' }, { agentId: 'middle' }, { agentId: 'last' }],
    },
  })
  const before = await createServer({ agents: [team], store, timeouts: { shutdownMs: 0 } })
  const sent = await before.dispatch()(
    'SendMessage',
    { message, configuration: { returnImmediately: true } },
    {},
  )
  const id = 'task' in sent ? sent.task.id : ''
  await expect.poll(() => middle.turns.length).toBe(1)
  await before.close()

  alive = true
  const after = await createServer({ agents: [team], store })
  expect(await after.recover()).toEqual({ resumed: 1, failed: 0 })
  const task = async (): Promise<Task> =>
    after.dispatch()('GetTask', { id }, { extensions: [traceExtension] })
  await expect.poll(async () => (await task()).status.state).toBe('TASK_STATE_COMPLETED')
  const done = await task()
  expect(textOf(done.artifacts?.[0]?.parts ?? [])).toBe('last(middle(first(x)))')
  expect(done.artifacts?.map(({ artifactId }) => artifactId)).toEqual(['response'])
  expect(first.asked).toHaveLength(1)
  expect(middle.asked).toHaveLength(2)
  const trace = done.metadata?.[traceExtension]
  expect(JSON.stringify(trace)).toContain('"member":"last"')
  const plain = await after.dispatch()('GetTask', { id }, {})
  expect(JSON.stringify(plain)).not.toContain('"delegation"')
  await after.close()
  await store.close()
})

test('a question of a member survives a restart, and its answer reaches the member', async () => {
  const store = createMemoryStore()
  const painter = member('painter', async function* (text, turn) {
    yield turn.task ? `painted ${text}` : turn.ask('Which colour?')
  })
  const team = defineTeam({
    id: 'team',
    name: 'Team',
    agents: { first: member('first'), painter },
    scheduler: { type: 'workflow', steps: [{ agentId: 'first' }, { agentId: 'painter' }] },
  })
  const before = await createServer({ agents: [team], store })
  const asked = await before.dispatch()('SendMessage', { message }, {})
  const task = 'task' in asked ? asked.task : undefined
  expect(task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  await before.close()

  const after = await createServer({ agents: [team], store })
  await after.recover()
  const answer = { ...message, messageId: 'n', taskId: task?.id ?? '', parts: [{ text: 'red' }] }
  const done = await after.dispatch()('SendMessage', { message: answer }, {})
  const artifacts = 'task' in done ? (done.task.artifacts ?? []) : []
  expect(textOf(artifacts.flatMap((artifact) => artifact.parts))).toBe('painted red')
  expect(artifacts.map(({ artifactId }) => artifactId)).toEqual(['response-2'])
  await after.close()
  await store.close()
})
