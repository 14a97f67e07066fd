import { describe, expect, test } from 'vitest'
import { textOf, userMessage } from '../../src/protocol/task.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import { defineTeam } from '../../src/team/team.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'
import { answerText, chunksOf, connect, remote, serve, taskOf, teamOf } from './scene.ts'
import { serveSdkMember } from './sdk-member.ts'

describe('a team with a member that is a server of the official SDK', () => {
  test('answers with what the member says', async () => {
    const { url } = await serveSdkMember()
    const client = connect(await serve(teamOf({ sdk: remote(url, 'sdk') })))
    expect(answerText(await client.sendMessage('hello'))).toBe('SDK: hello')
  })

  test('hands its answer to the next member', async () => {
    const { url } = await serveSdkMember()
    const team = teamOf({ sdk: remote(url, 'sdk'), last: member('last') })
    const client = connect(await serve(team))
    expect(answerText(await client.sendMessage('hello'))).toBe('last(SDK: hello)')
  })

  test('streams its chunks, each once', async () => {
    const { url } = await serveSdkMember()
    const client = connect(await serve(teamOf({ sdk: remote(url, 'sdk') })))
    const events: StreamResponse[] = []
    for await (const event of client.sendMessageStream('hello')) events.push(event)
    expect(chunksOf(events).filter((text) => text !== '')).toEqual(['SDK: ', 'hello'])
  })

  test('asks its question, and brings the answer to the task that asked', async () => {
    const { url, taskIds } = await serveSdkMember()
    const client = connect(await serve(teamOf({ sdk: remote(url, 'sdk') })))
    const asked = taskOf(await client.sendMessage('paint'))
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(textOf(asked.status.message?.parts ?? [])).toBe('Which colour?')
    const answer = userMessage('red', { taskId: asked.id, contextId: asked.contextId })
    const done = taskOf(await client.sendMessage(answer))
    expect(done.id).toBe(asked.id)
    expect(done.status.state).toBe('TASK_STATE_COMPLETED')
    expect(answerText({ task: done })).toBe('SDK: red')
    expect(taskIds).toHaveLength(1)
  })

  test('cancel in the middle of three levels ends the task there as cancelled', async () => {
    const { url, taskIds } = await serveSdkMember()
    const before = member('before', () => 'wait')
    const after = member('after')
    const inner = teamOf({ before, sdk: remote(url, 'sdk') }, 'inner')
    const outer = teamOf({ middle: teamOf({ inner }, 'middle'), after }, 'outer')
    const client = connect(await serve(outer))
    const { id } = taskOf(
      await client.sendMessage({
        message: userMessage('x'),
        configuration: { returnImmediately: true },
      }),
    )
    await expect.poll(() => taskIds.length).toBe(1)
    expect((await client.cancelTask(id)).status.state).toBe('TASK_STATE_CANCELED')
    const there = connect(url)
    const remoteState = async () => (await there.getTask(taskIds[0] ?? '')).status.state
    await expect.poll(remoteState).toBe('TASK_STATE_CANCELED')
    expect(after.asked).toEqual([])
  })

  test('that takes too long is cancelled there, and its fallback answers', async () => {
    const { url, taskIds } = await serveSdkMember()
    const clock = createFakeClock()
    const steps = [{ agentId: 'sdk', timeoutSeconds: 5, fallbackAgentId: 'spare' }] as const
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { sdk: remote(url, 'sdk'), spare: member('spare') },
      scheduler: { type: 'workflow', steps },
      clock,
    })
    const client = connect(await serve(team))
    const answer = client.sendMessage('wait')
    const there = connect(url)
    const state = async () =>
      taskIds[0] === undefined ? undefined : (await there.getTask(taskIds[0])).status.state
    await expect.poll(state).toBe('TASK_STATE_WORKING')
    clock.advance(5_000)
    expect(answerText(await answer)).toBe('spare(wait)')
    await expect.poll(state).toBe('TASK_STATE_CANCELED')
  })
})
