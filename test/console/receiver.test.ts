import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../../src/testing/index.ts'
import { ask } from '../server/asking.ts'
import { head, openClient } from '../server/wire.ts'
import { as, json, openScene, posted, type Scene } from './scene.ts'

async function openReceiver({ api }: Scene, who = 'ann'): Promise<{ id: string; url: string }> {
  const { json: made, status } = await api('receiver', posted({}, as(who)))
  expect(status).toBe(200)
  expect(made.bodies).toEqual([])
  return made
}

const local = (url: string) => url.replace('localhost', '127.0.0.1')

describe('a receiver', () => {
  test('takes what anybody sends who knows it, and shows it to its owner alone', async () => {
    const scene = await openScene({ isClosed: true })
    const { id, url } = await openReceiver(scene)
    const sent = await ask(local(url), {
      headers: { ...json, authorization: 'Bearer hook-secret', 'x-other': '1' },
      body: '{"hello":1}',
    })
    expect(sent.status).toBe(204)
    const { json: seen, text } = await scene.api(`receiver/${id}`, { headers: as('ann') })
    expect(seen.bodies).toMatchObject([
      { body: '{"hello":1}', headers: { 'content-type': 'application/json', authorization: '…' } },
    ])
    expect(text).not.toContain('hook-secret')
    for (const who of ['bob', 'op'])
      expect((await scene.api(`receiver/${id}`, { headers: as(who) })).status).toBe(404)
    expect((await scene.api(`receiver/${id}`)).status).toBe(401)
    expect((await ask(`${scene.url}/console/api/receiver/guess`, { body: '{}' })).status).toBe(404)
  })

  test('that is not there refuses a large body before it has come', async () => {
    const scene = await openScene({ isClosed: true })
    const client = await openClient(Number(new URL(scene.url).port))
    const length = { 'content-length': 900 * 1024 }
    client.socket.write(head(length, '/console/api/receiver/guess'))
    expect(await client.reply()).toMatch(/^HTTP\/1\.1 404/)
  })

  test('has an id that nobody guesses', async () => {
    const scene = await openScene({ isClosed: true })
    const ids = [await openReceiver(scene), await openReceiver(scene)].map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(Buffer.from(id, 'base64url')).toHaveLength(24)
  })

  test('keeps the last 50 bodies and a megabyte in all', async () => {
    const scene = await openScene({ isClosed: true })
    const { id, url } = await openReceiver(scene)
    const show = async () => (await scene.api(`receiver/${id}`, { headers: as('ann') })).json.bodies
    for (let i = 0; i < 55; i++) await ask(local(url), { headers: json, body: String(i) })
    const bodies = await show()
    expect(bodies.map(({ body }: { body: string }) => Number(body))).toEqual(
      Array.from({ length: 50 }, (_, i) => 54 - i),
    )
    const large = 'x'.repeat(600 * 1024)
    await ask(local(url), { headers: json, body: JSON.stringify(large) })
    await ask(local(url), { headers: json, body: JSON.stringify(large) })
    expect(await show()).toHaveLength(1)
    const tooLarge = JSON.stringify('x'.repeat(1024 * 1024))
    const refused = await ask(local(url), { headers: json, body: tooLarge })
    expect(refused.status).toBe(413)
    expect(await show()).toHaveLength(1)
  })

  test('ends after an hour', async () => {
    const clock = createFakeClock()
    const scene = await openScene({ isClosed: true, clock })
    const { id, url } = await openReceiver(scene)
    await clock.advance(3_599_000)
    expect((await ask(local(url), { headers: json, body: '1' })).status).toBe(204)
    await clock.advance(1_001)
    expect((await ask(local(url), { headers: json, body: '2' })).status).toBe(404)
    expect((await scene.api(`receiver/${id}`, { headers: as('ann') })).status).toBe(404)
  })

  test('of a principal beyond ten takes the place of its oldest', async () => {
    const scene = await openScene({ isClosed: true })
    const theirs = await openReceiver(scene, 'bob')
    const mine = []
    for (let i = 0; i < 11; i++) mine.push(await openReceiver(scene))
    const status = async (id: string, who: string) =>
      (await scene.api(`receiver/${id}`, { headers: as(who) })).status
    expect(await status(mine[0]?.id ?? '', 'ann')).toBe(404)
    expect(await status(mine[1]?.id ?? '', 'ann')).toBe(200)
    expect(await status(theirs.id, 'bob')).toBe(200)
  })

  test('may be a webhook of this server, though others inside may not', async () => {
    const scene = await openScene({ isClosed: true })
    const { id, url } = await openReceiver(scene)
    const register = (hook: string) =>
      ask(`${scene.url}/message:send`, {
        headers: { ...json, 'a2a-version': '1.0', ...as('ann') },
        body: JSON.stringify({
          message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hi' }] },
          configuration: { taskPushNotificationConfig: { url: hook, token: 'hush' } },
        }),
      })
    expect((await register(`${url}x`)).status).toBe(400)
    expect((await register(scene.url)).status).toBe(400)
    expect((await register(url)).status).toBe(200)
    await expect
      .poll(async () => (await scene.api(`receiver/${id}`, { headers: as('ann') })).json.bodies)
      .toMatchObject([
        { headers: { 'x-a2a-notification-token': '…' } },
        ...Array.from({ length: 2 }, () => ({})),
      ])
    // What has arrived is noted a moment later.
    await expect
      .poll(async () => (await scene.api('webhooks', { headers: as('ann') })).json.queues)
      .toMatchObject([{ lag: 0, state: 'done', attempts: [{ status: 204 }, {}, {}] }])
  })
})
