import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import type { Guards } from '../../src/agents/guards/guard.ts'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { toUsageMetadata } from '../../src/protocol/extensions.ts'
import { textOf } from '../../src/protocol/task.ts'
import { defineTeam, type Team } from '../../src/team/index.ts'
import { ask } from '../server/asking.ts'
import { as, json, openScene, posted } from './scene.ts'

describe('the roster', () => {
  test('shows the agents and teams with what they have done, and what waits', async () => {
    const scene = await openScene({ console: { store: 'memory' } })
    await scene.send('hello there')
    await scene.send('fail')
    await scene.send('ask me')
    await scene.send('a report', { agent: 'pair' })
    const { status, json: roster } = await scene.api('roster')
    expect(status).toBe(200)
    expect(roster.server).toMatchObject({ store: 'memory', version: expect.any(String) })
    expect(roster.me).toEqual({
      name: '',
      scopes: ['tasks:read', 'tasks:write', 'push'],
      operator: false,
      login: false,
    })
    expect(roster.totals).toMatchObject({ running: 0, waiting: 2, completed: 1, failed: 1 })
    const [worker, echo, pair] = roster.agents
    expect(worker).toMatchObject({
      id: 'worker',
      kind: 'function',
      health: 'healthy',
      waiting: 1,
      completed: 1,
      failed: 1,
      members: [],
    })
    expect(worker.recent.reduce((sum: number, one: number) => sum + one)).toBe(3)
    expect(echo).toMatchObject({ id: 'echo', completed: 0 })
    expect(pair).toMatchObject({
      kind: 'team',
      scheduler: 'workflow',
      members: ['first', 'second'],
    })
    expect(
      roster.needsYou.map(({ kind, task }: never) => [kind, Reflect.get(task, 'agent')]),
    ).toEqual([
      ['input', 'worker'],
      ['approval', 'pair'],
    ])
    expect(roster.needsYou[0].question.parts).toEqual([{ text: 'Which one?' }])
  })
})

test('the roster does not wait for an agent that does not say how it is', async () => {
  const silent = defineAgent(
    { name: 'Silent', health: () => new Promise(() => {}) },
    () => 'nothing to say',
  )
  const sick = defineAgent(
    { name: 'Sick', health: async () => ({ healthy: false, reason: 'no bed' }) },
    () => 'nothing to say',
  )
  const { api } = await openScene({ agents: [silent, sick] })
  const { json: roster } = await api('roster')
  expect(roster.agents).toMatchObject([
    { id: 'silent', health: 'unknown' },
    { id: 'sick', health: 'sick', reason: 'no bed' },
  ])
})

/** A member, an approval, a member. */
function createGuarded(): Team {
  return defineTeam({
    id: 'guarded',
    name: 'Guarded',
    agents: { first: () => 'one', second: () => 'two' },
    scheduler: {
      type: 'workflow',
      steps: [{ agentId: 'first' }, { approval: { question: 'Send it?' } }, { agentId: 'second' }],
    },
  })
}

test('many who ask for the roster at once get the same answer', async () => {
  const { api, send } = await openScene()
  await send('hello')
  const answers = await Promise.all(Array.from({ length: 10 }, () => api('roster')))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers[0]?.json.totals.completed).toBe(1)
})

describe('tasks', () => {
  test('come in keyset pages over all agents, newest first, with a total', async () => {
    const { api, send } = await openScene()
    const ids: string[] = []
    for (const text of ['one', 'two', 'three', 'four', 'five'])
      ids.unshift(await send(text, { agent: ids.length % 2 ? 'pair' : 'worker' }))
    const seen: string[] = []
    let cursor = ''
    do {
      const { json: page } = await api(`tasks?limit=2&cursor=${encodeURIComponent(cursor)}`)
      expect(page.total).toBe(5)
      expect(page.rows.length).toBeLessThanOrEqual(2)
      seen.push(...page.rows.map(({ id }: { id: string }) => id))
      cursor = page.next ?? ''
    } while (cursor)
    expect([...seen].sort()).toEqual([...ids].sort())
    expect(new Set(seen).size).toBe(5)
  })

  test('are filtered by agent, state, context and text', async () => {
    const { api, send } = await openScene()
    const ask = await send('ask about sheep')
    await send('count the sheep')
    const pair = await send('a goat', { agent: 'pair' })
    const found = async (query: string): Promise<string[]> =>
      (await api(`tasks?${query}`)).json.rows.map(({ id }: { id: string }) => id)
    expect(await found('agent=pair')).toEqual([pair])
    expect(await found('agent=worker&state=TASK_STATE_INPUT_REQUIRED')).toEqual([ask])
    expect(await found('text=SHEEP')).toHaveLength(2)
    expect(await found(`text=${ask.slice(0, 20)}`)).toEqual([ask])
    expect(await found('text=nobody')).toEqual([])
    const [row] = (await api('tasks?agent=pair')).json.rows
    expect(row).toMatchObject({ words: 'a goat', mine: true, agent: 'pair' })
    expect(await found(`context=${row.contextId}`)).toEqual([pair])
  })

  test('are refused with a sentence where the query is wrong', async () => {
    const { api } = await openScene()
    for (const query of ['state=DONE', 'limit=many', 'cursor=nonsense'])
      expect(await api(`tasks?${query}`), query).toMatchObject({
        status: 400,
        json: { error: { code: 'invalidParams', message: expect.any(String) } },
      })
  })

  test('are shown one by one with their history and webhooks, without secrets', async () => {
    const { api, send, url } = await openScene()
    const id = await send('work on it')
    const config = { url: 'https://example.com/hook?secret=1', token: 'hush', taskId: id }
    const made = await ask(`${url}/tasks/${id}/pushNotificationConfigs`, {
      headers: { ...json, 'a2a-version': '1.0' },
      body: JSON.stringify(config),
    })
    expect(made.status).toBe(200)
    const { json: task, text } = await api(`tasks/${id}`)
    expect(task).toMatchObject({ id, busy: true, agentName: 'Worker', state: 'TASK_STATE_WORKING' })
    expect(task.history[0].parts).toEqual([{ text: 'work on it' }])
    expect(task.webhooks).toMatchObject([{ url: 'https://example.com/hook', taskId: id }])
    expect(text).not.toContain('hush')
    expect(text).not.toContain('secret=1')
  })

  test('have their log in stretches: events and trace, and no more for their owner', async () => {
    const { api, send } = await openScene()
    const id = await send('a report', { agent: 'pair' })
    const { json: all } = await api(`tasks/${id}/records`)
    const kinds = new Set(all.records.map(({ kind }: { kind: string }) => kind))
    expect([...kinds].sort()).toEqual(['event', 'trace'])
    expect(all.upTo).toBe(all.version)
    const { json: part } = await api(`tasks/${id}/records?after=2&limit=3`)
    expect(part.upTo).toBe(5)
    expect(part.records.every(({ seq }: { seq: number }) => seq > 2 && seq <= 5)).toBe(true)
  })

  test('show no trace where the server shows none', async () => {
    const { api, send } = await openScene({ trace: false })
    const id = await send('a report', { agent: 'pair' })
    const { json: all } = await api(`tasks/${id}/records`)
    expect(all.records.map(({ kind }: { kind: string }) => kind)).not.toContain('trace')
    expect((await api(`tasks/${id}`)).json.trace).toBe(false)
    expect((await api('edges/pair')).json).toEqual({ edges: [], tasks: 0 })
  })

  test.each(['1.0', 'rest', '0.3', '1.0-rc', 'ranch', 'openai', 'webhook'])(
    'are shown as %s writes them',
    async (dialect) => {
      const { api, send, url } = await openScene()
      const id = await send('hello')
      const { status, json: wire } = await api(`tasks/${id}/wire?dialect=${dialect}`)
      expect(status).toBe(200)
      expect(wire.dialect).toBe(dialect)
      expect(JSON.stringify(wire.frames)).toContain('done: hello')
      const [request] = wire.frames
      if (dialect === 'webhook') expect(request.title).toContain('POST https://')
      else
        expect(request.title.startsWith(`POST ${url.replace('127.0.0.1', 'localhost')}`)).toBe(true)
    },
  )

  test('know no other dialect', async () => {
    const { api, send } = await openScene()
    const id = await send('hello')
    expect((await api(`tasks/${id}/wire?dialect=morse`)).json.error.message).toContain('1.0-rc')
  })
})

describe('a team', () => {
  test('is drawn from its definition', async () => {
    const { json: graph } = await (await openScene()).api('graph/pair')
    expect(graph).toMatchObject({ id: 'pair', scheduler: 'workflow', entry: ['first'] })
    expect(graph.nodes.map(({ id, kind }: never) => [id, kind])).toEqual([
      ['first', 'function'],
      ['second', 'function'],
      ['approval-1', 'approval'],
    ])
    expect(graph.edges).toEqual([
      { from: 'first', to: 'second', kind: 'next' },
      { from: 'second', to: 'approval-1', kind: 'next' },
    ])
  })

  test('shows the guards that members bring with them, within those of their steps', async () => {
    const clerk = defineAgent({ name: 'Clerk', guards: { output: ['secrets'] } }, () => 'ok')
    const key = { apiKey: 'k', model: 'm', endpoint: 'http://127.0.0.1:1' }
    const model = new OpenAIAgent({ id: 'm', name: 'M', ...key, guards: { input: ['email'] } })
    const far = new A2AAgent({
      endpoint: 'http://127.0.0.1:1',
      maxRetries: 0,
      guards: { output: ['email'] },
    })
    onTestFinished(async () => {
      await model.close()
      await far.close()
    })
    const guards: Guards<never> = { input: [{ use: 'length', max: 9 }], output: ['email'] }
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { clerk, model, far, bare: () => 'ok' },
      scheduler: {
        type: 'workflow',
        steps: [{ agentId: 'clerk', guards }, { agentId: 'model', guards }, { agentId: 'far' }],
      },
    })
    const { json: graph } = await (await openScene({ agents: [team] })).api('graph/team')
    expect(graph.nodes.map(({ id, guards: named }: never) => [id, named])).toEqual([
      ['clerk', { input: ['length'], output: ['secrets', 'email'] }],
      ['model', { input: ['length', 'email'], output: ['email'] }],
      ['far', { output: ['email'] }],
      ['bare', undefined],
    ])
  })

  test('tells what a run has cost that waits for a person, and once it is told the sum', async () => {
    const used = { inputTokens: 10, outputTokens: 5, costUsd: 0.25 }
    const metadata = toUsageMetadata(used)
    const priced = defineAgent({ name: 'Priced' }, async function* ({ parts }, turn) {
      yield turn.artifact({ artifactId: 'a', parts: [{ text: textOf(parts) }], metadata })
    })
    const inner = defineTeam({
      id: 'inner',
      name: 'Inner',
      agents: { priced },
      scheduler: {
        type: 'workflow',
        steps: [{ agentId: 'priced' }, { approval: { question: 'Good?' } }],
      },
    })
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { priced, inner },
      scheduler: { type: 'workflow', steps: [{ agentId: 'priced' }, { agentId: 'inner' }] },
    })
    const { api, send } = await openScene({ agents: [team] })
    const taskId = await send('a report', { agent: 'team' })
    expect((await api('edges/team')).json).toMatchObject({ costUsd: 0.5, dearestUsd: 0.5 })
    expect((await api('roster')).json.totals).toMatchObject({ costUsd: 0.5, tokens: 30 })
    await send('yes', { agent: 'team', taskId })
    expect((await api('edges/team')).json).toMatchObject({ tasks: 1, costUsd: 0.5 })
    expect((await api('roster')).json.totals).toMatchObject({ completed: 1, tokens: 30 })
  })

  test('has on its edges what went over them', async () => {
    const { api, send } = await openScene()
    await send('a report', { agent: 'pair' })
    await send('another', { agent: 'pair' })
    const { json: facts } = await api('edges/pair')
    expect(facts.tasks).toBe(2)
    expect(facts.edges).toMatchObject([
      { team: 'pair', from: '', to: 'first', count: 2, failures: 0, running: 0 },
      { team: 'pair', from: 'first', to: 'second', count: 2 },
      { team: 'pair', from: 'second', to: 'approval-1', count: 2, running: 0 },
    ])
    expect(facts.edges[0].last[0]).toMatchObject({ question: 'another', answer: '1 another' })
  })

  test('has what went into an approval and out of it, however often it was asked', async () => {
    const { api, send } = await openScene({ agents: [createGuarded()] })
    const taskId = await send('a report', { agent: 'guarded' })
    for (const text of ['perhaps', 'yes']) await send(text, { agent: 'guarded', taskId })
    const { json: facts } = await api('edges/guarded')
    expect(facts.edges).toMatchObject([
      { from: '', to: 'first', count: 1 },
      { from: 'first', to: 'approval-1', count: 1, failures: 0, running: 0 },
      { from: 'approval-1', to: 'second', count: 1 },
    ])
    expect(facts.edges[1].last).toMatchObject([{ answer: 'yes' }])
    expect(facts.edges[1].last[0].question).toMatch(/Send it\?$/)
  })

  test.each(['graph/worker', 'edges/worker', 'graph/nobody'])('is not %s', async (path) => {
    expect((await (await openScene()).api(path)).status).toBe(404)
  })
})

describe('paths and methods', () => {
  test('that the API does not have are refused', async () => {
    const { api } = await openScene()
    expect((await api('nothing')).status).toBe(404)
    expect((await api('tasks/x/y/z')).status).toBe(404)
    expect(await api('roster', posted({}))).toMatchObject({
      status: 405,
      headers: { allow: 'GET' },
    })
  })

  test('a body that is no JSON gets a sentence', async () => {
    const { api } = await openScene()
    const answer = await api('relay', { headers: { ...json, ...as('ann') }, body: '{' })
    expect(answer).toMatchObject({ status: 400, json: { error: { code: 'invalidParams' } } })
  })
})
