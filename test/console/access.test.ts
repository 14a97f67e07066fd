import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { ask, type Question } from '../server/asking.ts'
import { as, openScene, posted } from './scene.ts'

const nowhere = '00000000-0000-4000-8000-000000000000'

/** Everything that names a task. */
const taskPaths = [
  (id: string) => `tasks/${id}`,
  (id: string) => `tasks/${id}/records`,
  (id: string) => `tasks/${id}/wire?dialect=1.0`,
]

/** Everything that asks who calls, but the address of a receiver for whoever sends to it. */
const doors: readonly (readonly [path: string, question: Question])[] = [
  ['roster', {}],
  ['graph/pair', {}],
  ['edges/pair', {}],
  ['tasks', {}],
  [`tasks/${nowhere}`, {}],
  [`tasks/${nowhere}/records`, {}],
  [`tasks/${nowhere}/wire`, {}],
  ['events', {}],
  ['webhooks', {}],
  ['webhooks/redrive', posted({ ids: [] })],
  ['relay', posted({ kind: 'card', url: 'https://example.com' })],
  ['receiver', posted({})],
  ['receiver/none', {}],
]

describe('where credentials are asked for', () => {
  test.each(doors)('%s refuses strangers and says how to sign in', async (path, question) => {
    const { api } = await openScene({ isClosed: true })
    const answer = await api(path, question)
    expect(answer.status).toBe(401)
    expect(answer.headers['www-authenticate']).toContain('Bearer')
    expect(answer.json.error.logins).toEqual([
      { label: 'Token', header: 'Authorization', prefix: 'Bearer ' },
    ])
    const wrong = await api(path, { ...question, headers: { ...question.headers, ...as('eve') } })
    expect(wrong.status).toBe(401)
  })

  test('a principal sees its own tasks in every view', async () => {
    const { api, send } = await openScene({ isClosed: true })
    const mine = await send('ask ann', { who: 'ann' })
    const theirs = await send('ask bob', { who: 'bob' })
    const ann = { headers: as('ann') }
    const { json: roster } = await api('roster', ann)
    expect(roster.me).toMatchObject({ name: 'ann', operator: false, login: true })
    expect(roster.totals).toMatchObject({ waiting: 1 })
    expect(roster.needsYou).toHaveLength(1)
    const { json: list } = await api('tasks', ann)
    expect(list.total).toBe(1)
    expect(list.rows.map(({ id }: { id: string }) => id)).toEqual([mine])
    expect((await api('tasks?text=bob', ann)).json.rows).toEqual([])
    for (const path of taskPaths) {
      expect((await api(path(mine), ann)).status).toBe(200)
      const [other, none] = [await api(path(theirs), ann), await api(path(nowhere), ann)]
      expect(other.status).toBe(404)
      expect(other.text).toBe(none.text)
    }
  })

  test('a team shows on its edges only what the caller has asked it', async () => {
    const { api, send } = await openScene({ isClosed: true })
    await send('of bob', { agent: 'pair', who: 'bob' })
    expect((await api('edges/pair', { headers: as('ann') })).json).toEqual({ edges: [], tasks: 0 })
    const { json: seen } = await api('edges/pair', { headers: as('op') })
    expect(seen.tasks).toBe(1)
  })

  test('an operator sees all, with whose it is and every kind of record, and that is logged', async () => {
    const lines: [object, string][] = []
    const logger = {
      debug: () => {},
      info: (fields: object, text: string) => void lines.push([fields, text]),
      warn: () => {},
      error: () => {},
    }
    const { api, send } = await openScene({ isClosed: true, logger })
    const id = await send('ask ann', { who: 'ann' })
    await send('hello', { who: 'bob' })
    const op = { headers: as('op') }
    const { json: list } = await api('tasks', op)
    expect(list.total).toBe(2)
    // Which of them changed last, if not in the same millisecond, is another test's.
    expect(list.rows.map(({ owner, mine }: never) => [owner, mine]).toSorted()).toEqual([
      ['ann', false],
      ['bob', false],
    ])
    const { json: log } = await api(`tasks/${id}/records`, op)
    const kinds = log.records.map(({ kind }: { kind: string }) => kind)
    expect(kinds).toContain('message')
    expect(log.records.map(({ seq }: { seq: number }) => seq)).toEqual(
      log.records.map((_: unknown, i: number) => i + 1),
    )
    // What waits for somebody else is not the operator's to answer.
    expect((await api('roster', op)).json).toMatchObject({ totals: { waiting: 1 }, needsYou: [] })
    expect(lines).toContainEqual([
      { operator: 'op', path: `/console/api/tasks/${id}/records` },
      'An operator looked',
    ])
  })

  test('each view asks for its scope', async () => {
    const { api, url, send } = await openScene({ isClosed: true })
    const reader = { headers: as('reader') }
    expect((await api('tasks', reader)).status).toBe(200)
    expect((await api('webhooks', reader)).status).toBe(403)
    const id = await send('work', { who: 'ann' })
    await ask(`${url}/tasks/${id}/pushNotificationConfigs`, {
      ...posted({ taskId: id, url: 'https://example.com/hook' }, as('ann')),
    })
    expect((await api(`tasks/${id}`, { headers: as('ann') })).json.webhooks).toHaveLength(1)
    expect((await api(`tasks/${id}`, reader)).json.webhooks).toBeUndefined()
    expect((await api('receiver', posted({}, as('reader')))).status).toBe(403)
    expect((await api('relay', posted({ kind: 'card', url }, as('reader')))).status).toBe(403)
  })

  test('a credential for one agent sees that one alone', async () => {
    const { api, send } = await openScene({ isClosed: true })
    const id = await send('hello', { who: 'ann' })
    const narrow = { headers: as('narrow') }
    expect((await api('roster', narrow)).json.agents.map(({ id }: { id: string }) => id)).toEqual([
      'echo',
    ])
    expect((await api('tasks', narrow)).json.rows).toEqual([])
    expect((await api('tasks?agent=worker', narrow)).json.rows).toEqual([])
    expect((await api(`tasks/${id}`, narrow)).status).toBe(404)
    expect((await api('graph/pair', narrow)).status).toBe(404)
  })

  test('a task in a tenant is not shown to a credential that names no tenant', async () => {
    const store = createMemoryStore()
    const { url, api, send } = await openScene({ isClosed: true, store })
    await send('hello', { who: 'ann' })
    const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'in a tenant' }] }
    const answer = await ask(`${url}/one/message:send`, {
      headers: { ...as('ann'), 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message }),
    })
    const { id } = answer.json.task
    expect((await store.get(id))?.head.scope.tenant).toBe('one')
    expect((await api(`tasks/${id}`, { headers: as('ann') })).status).toBe(404)
    expect((await api('tasks', { headers: as('ann') })).json.total).toBe(1)
    expect((await api('tasks', { headers: as('op') })).json.total).toBe(2)
  })
})

describe('pages of other origins', () => {
  const evil = 'https://evil.example'

  test.each([undefined, { origins: '*' as const }, { origins: [evil] }])(
    'get nothing of the API, whatever cors says (%j)',
    async (cors) => {
      const { api, url } = await openScene(cors ? { cors } : {})
      for (const headers of [
        { origin: evil },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
      ]) {
        const answer = await api('roster', { headers })
        expect(answer.status, JSON.stringify(headers)).toBe(403)
        expect(answer.headers['access-control-allow-origin']).toBeUndefined()
      }
      const preflight = await api('roster', { method: 'OPTIONS', headers: { origin: evil } })
      expect(preflight.headers['access-control-allow-origin']).toBeUndefined()
      const own = await api('roster', { headers: { origin: url, 'sec-fetch-site': 'same-origin' } })
      expect(own.status).toBe(200)
      expect(own.headers['access-control-allow-origin']).toBeUndefined()
      expect(own.headers['cross-origin-resource-policy']).toBe('same-origin')
    },
  )

  test('under a name of their own that points here get nothing either', async () => {
    const { api } = await openScene({ cors: { origins: '*' } })
    const headers = { host: 'evil.example:80', origin: 'http://evil.example:80' }
    expect((await api('roster', { headers })).status).toBe(403)
    expect((await api('roster', { headers: { host: 'evil.example' } })).status).toBe(403)
  })

  test('may not use a name beside the server’s own, unless it is allowed', async () => {
    const { api } = await openScene({ allowedHosts: ['agents.example'] })
    const headers = { host: 'agents.example', origin: 'https://agents.example' }
    expect((await api('roster', { headers })).status).toBe(200)
  })
})
