import { expect, onTestFinished, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import type { Message, Task } from '../../src/protocol/types.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { defineTeam } from '../../src/team/team.ts'
import { member } from '../fixtures/members.ts'

const asks = (id: string, answer: () => string): Agent =>
  member(id, async function* (_text, turn) {
    yield turn.task ? answer() : turn.ask(`${id}?`)
  })

test('a member that fails leaves no other one waiting for an answer that nobody will give', async () => {
  const far = await createServer({ agents: [asks('far', () => 'never')], logger: false })
  const { url, close } = await listen(far, { port: 0, host: '127.0.0.1', logger: false })
  const remote = new A2AAgent({
    ...{ endpoint: url, id: 'far', name: 'far', taskHandling: 'PollUntilComplete' },
    ...{ timeoutSeconds: 20, maxRetries: 0 },
  })
  const near = asks('near', () => {
    throw new Error('no')
  })
  const inner = parallel('inner', { far: remote })
  const server = await createServer({ agents: [parallel('outer', { near, inner })], logger: false })
  onTestFinished(async () => {
    await server.close()
    await close()
  })

  const send = async (text: string, taskId?: string): Promise<Task> => {
    const message: Message = {
      messageId: text,
      role: 'ROLE_USER',
      parts: [{ text }],
      ...(taskId !== undefined && { taskId }),
    }
    const sent = await server.dispatch()('SendMessage', { message }, {})
    if (!('task' in sent)) throw new Error('a task was expected')
    return sent.task
  }
  const states = async (): Promise<readonly string[]> => {
    const { tasks } = await far.dispatch()('ListTasks', {}, {})
    return tasks.map(({ status }) => status.state)
  }

  const asked = await send('go')
  expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  expect(await states()).toEqual(['TASK_STATE_INPUT_REQUIRED'])
  const failed = await send('this one', asked.id)
  expect(failed.status.state).toBe('TASK_STATE_FAILED')
  expect(await states()).toEqual(['TASK_STATE_CANCELED'])
})

function parallel(id: string, agents: Readonly<Record<string, Agent>>): Agent {
  const steps = [{ parallel: Object.keys(agents).map((agentId) => ({ agentId })) }]
  return defineTeam({ id, name: id, agents, scheduler: { type: 'workflow', steps } })
}
