import { afterEach, describe, expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { defineTool } from '../../src/agents/tools.ts'
import { answerParts, textOf, userMessage } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'
import { createServer, listen } from '../../src/server/index.ts'
import type { SchedulerConfig } from '../../src/team/config.ts'
import { defineTeam } from '../../src/team/team.ts'
import { type ModelScript, openModelServer } from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const pay = { tools: [{ name: 'pay', arguments: { amount: 5 } }] }

/** A model with a tool that needs approval; what it paid is counted. */
async function payer(script: ModelScript, paid: unknown[], id = 'payer'): Promise<OpenAIAgent> {
  const service = await openModelServer(script)
  const agent = new OpenAIAgent({
    ...{ id, name: id, endpoint: service.url, apiKey: 'k', model: 'm' },
    ...{ timeoutSeconds: 10, maxRetries: 0 },
    tools: [
      defineTool({
        name: 'pay',
        description: 'Pays',
        input: { type: 'object', properties: { amount: { type: 'number' } } },
        approval: true,
        execute(args) {
          paid.push(args)
          return 'paid'
        },
      }),
    ],
  })
  closing.push(service.close, () => agent.close())
  return agent
}

function team(id: string, agents: Record<string, Agent>, scheduler: SchedulerConfig): Agent {
  return defineTeam({ id, name: id, agents, scheduler })
}

function chain(id: string, agents: Record<string, Agent>): Agent {
  const steps = Object.keys(agents).map((agentId) => ({ agentId, maxRetries: 2 }))
  return team(id, agents, { type: 'workflow', steps })
}

async function serve(agent: Agent): Promise<(text: string, taskId?: string) => Promise<Task>> {
  const server = await createServer({ agents: [agent], logger: false })
  closing.push(() => server.close())
  return async (text, taskId) => {
    const message = userMessage(text, taskId === undefined ? {} : { taskId })
    const sent = await server.dispatch()('SendMessage', { message }, {})
    if (!('task' in sent)) throw new Error('a task was expected')
    return sent.task
  }
}

const asking = 'TASK_STATE_INPUT_REQUIRED'

describe('a tool of a member that needs approval', () => {
  test.each(['alone', 'in a team in the team', 'remote'])('is asked about: %s', async (place) => {
    const paid: unknown[] = []
    const model = await payer([{ ...pay, text: 'Paying. ' }, 'Done.'], paid)
    const first = await placed(model, place)
    const send = await serve(chain('outer', { first, last: member('last') }))
    const asked = await send('go')
    expect(asked.status.state).toBe(asking)
    expect(asked.status.message?.parts).toMatchObject([
      { text: expect.stringContaining('payer wants to run the tool pay with:') },
      { data: { approval: { tool: 'pay', arguments: { amount: 5 } } } },
    ])
    expect((await send('why?', asked.id)).status.state).toBe(asking)
    expect(paid).toEqual([])
    const done = await send('yes', asked.id)
    expect(paid).toEqual([{ amount: 5 }])
    expect(textOf(answerParts(done))).toBe('last(Paying. Done.)')
  })

  test.each(['alone', 'in a team in the team', 'remote'])(
    'ends the whole task after a no, with no further try: %s',
    async (place) => {
      const paid: unknown[] = []
      const model = await payer([pay, 'Done.'], paid)
      const first = await placed(model, place)
      const last = member('last')
      const send = await serve(chain('outer', { first, last }))
      const asked = await send('go')
      const ended = await send('no', asked.id)
      expect(ended.status.state).toBe('TASK_STATE_REJECTED')
      expect(textOf(ended.status.message?.parts ?? [])).toBe('The user did not approve')
      expect([paid, last.asked]).toEqual([[], []])
    },
  )

  test.each(['alone', 'in a team in the team'])(
    'leaves the words before it in the answer, once: %s',
    async (place) => {
      const model = await payer([{ ...pay, text: 'Paying. ' }, 'Done.'], [])
      const send = await serve(chain('outer', { model: await placed(model, place) }))
      const asked = await send('go')
      expect(asked.artifacts?.map(({ parts }) => textOf(parts))).toEqual(['Paying. '])
      expect((await send('why?', asked.id)).artifacts).toHaveLength(1)
      const done = await send('yes', asked.id)
      expect(done.artifacts?.map(({ artifactId, parts }) => [artifactId, textOf(parts)])).toEqual([
        ['response', 'Paying. Done.'],
      ])
    },
  )

  test('ends a supervised task after a no, and the supervisor is not told', async () => {
    const paid: unknown[] = []
    const worker = await payer([pay, 'Done.'], paid, 'worker')
    const delegates = { tools: [{ name: 'delegate_to_worker', arguments: { message: 'pay' } }] }
    const leader = await payer([delegates, 'Then not.'], [], 'leader')
    const scheduler = { type: 'supervisor', supervisorAgentId: 'leader' } as const
    const send = await serve(team('t', { leader, worker }, scheduler))
    const asked = await send('go')
    expect(asked.status.state).toBe(asking)
    expect((await send('no', asked.id)).status.state).toBe('TASK_STATE_REJECTED')
    expect(paid).toEqual([])
  })

  test('calls off what other members wait with after a no', async () => {
    const far = await createServer({
      agents: [
        member('far', async function* (_, turn) {
          yield turn.ask('which one?')
        }),
      ],
      logger: false,
    })
    const { url, close } = await listen(far, { port: 0, host: '127.0.0.1', logger: false })
    closing.push(close)
    const remote = new A2AAgent({
      ...{ endpoint: url, id: 'far', name: 'far', taskHandling: 'PollUntilComplete' },
      ...{ timeoutSeconds: 20, maxRetries: 0 },
    })
    const near = await payer([pay, 'Done.'], [])
    const steps = [{ parallel: [{ agentId: 'near' }, { agentId: 'far' }] }]
    const send = await serve(team('t', { near, far: remote }, { type: 'workflow', steps }))
    const asked = await send('go')
    expect((await send('no', asked.id)).status.state).toBe('TASK_STATE_REJECTED')
    const { tasks } = await far.dispatch()('ListTasks', {}, {})
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_CANCELED'])
  })
})

describe('a supervisor whose own tool needs approval', () => {
  const ask = (message: string) => ({ name: 'delegate_to_worker', arguments: { message } })

  test('goes on with delegating, and no question is asked twice', async () => {
    const paid: unknown[] = []
    const script = [
      { tools: [...pay.tools, ask('one')] },
      { tools: [ask('two')] },
      { tools: [ask('three')] },
      'All done.',
    ]
    const leader = await payer(script, paid, 'leader')
    const worker = member('worker', async function* (text, turn) {
      if (turn.task || text === 'two') yield `worker(${text})`
      else yield turn.ask(`${text}?`)
    })
    const scheduler = { type: 'supervisor', supervisorAgentId: 'leader' } as const
    const send = await serve(team('t', { leader, worker }, scheduler))
    const first = await send('go')
    const questions = [first]
    for (const answer of ['1', 'yes', '3']) questions.push(await send(answer, first.id))
    expect(
      questions.map(({ status }) => textOf(status.message?.parts ?? []).split('\n')[0]),
    ).toEqual(['one?', 'leader wants to run the tool pay with:', 'three?', ''])
    expect(textOf(answerParts(questions[3] ?? first))).toBe('All done.')
    expect(paid).toHaveLength(1)
    expect(worker.asked).toEqual(['one', '1', 'two', 'three', '3'])
  })
})

/** The model as a member: as it is, within a team of its own, or behind a server of its own. */
async function placed(model: Agent, place: string): Promise<Agent> {
  if (place === 'alone') return model
  if (place !== 'remote') return chain('inner', { model })
  const server = await createServer({ agents: [model], logger: false })
  const { url, close } = await listen(server, { port: 0, host: '127.0.0.1', logger: false })
  closing.push(close)
  return new A2AAgent({
    ...{ endpoint: url, id: 'far', name: 'far', taskHandling: 'PollUntilComplete' },
    ...{ timeoutSeconds: 20, maxRetries: 0 },
  })
}
