import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { createMetrics, createSeries } from '../../src/server/metrics.ts'
import { as, json, openScene } from '../console/scene.ts'
import { ask } from './asking.ts'
import { checkMetrics, sampleOf } from './prometheus.ts'

const textOf = (metrics: ReturnType<typeof createMetrics>): string =>
  String(metrics.page({ turns_running: 0 }).body)

describe('the checker', () => {
  test.each([
    ['a 1', 'a has no type'],
    ['# TYPE a counter\na 1\na 1', 'twice'],
    ['# TYPE a counter\na{b=1} 1', 'labels'],
    ['# TYPE a counter\na{b="\\x"} 1', 'labels'],
    ['# TYPE a counter\na one', 'not a number'],
    ['# TYPE a counter\n# TYPE a gauge', 'two types'],
    ['# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1', 'rise'],
    ['# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1', '+Inf'],
    ['# TYPE a histogram\na_bucket{le="+Inf"} 1\na_sum 1\na_count 2', 'add up'],
  ])('finds what is wrong with %j', (text, fault) => {
    expect(checkMetrics(`${text}\n`).join('; ')).toContain(fault)
  })
})

describe('/metrics', () => {
  test('is well formed when nothing has happened', () => {
    expect(checkMetrics(textOf(createMetrics()))).toEqual([])
  })

  test('has histograms that add up, of requests, turns, waiting, commits, webhooks, members, tokens', async () => {
    const scene = await openScene()
    for (let i = 0; i < 5; i++) await scene.send(`message ${i}`)
    await scene.send('a report', { agent: 'pair' })
    await ask(`${scene.url}/tasks/none`, { headers: { 'a2a-version': '1.0' } })
    const made = await scene.api('receiver', { method: 'POST', headers: json, body: '{}' })
    const configuration = { taskPushNotificationConfig: { url: made.json.url } }
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    await ask(`${scene.url}/message:send`, {
      headers: { ...json, 'a2a-version': '1.0' },
      body: JSON.stringify({ message, configuration }),
    })
    const read = async (): Promise<string> => (await ask(`${scene.url}/metrics`)).text
    const delivered = 'corral_webhook_attempt_seconds_count{outcome="delivered"}'
    await expect.poll(async () => sampleOf(await read(), delivered)).toBeGreaterThanOrEqual(2)
    const text = await read()
    expect(checkMetrics(text)).toEqual([])
    const sent = 'operation="SendMessage",outcome="ok"'
    expect(sampleOf(text, `corral_request_seconds_count{${sent}}`)).toBe(7)
    expect(sampleOf(text, `corral_request_seconds_bucket{${sent},le="+Inf"}`)).toBe(7)
    expect(sampleOf(text, `corral_operations_total{${sent}}`)).toBe(7)
    const missing = 'operation="GetTask",outcome="taskNotFound"'
    expect(sampleOf(text, `corral_request_seconds_count{${missing}}`)).toBe(1)
    expect(sampleOf(text, 'corral_turn_seconds_count')).toBe(7)
    expect(sampleOf(text, 'corral_queue_wait_seconds_count')).toBe(7)
    expect(sampleOf(text, 'corral_store_commit_seconds_count')).toBeGreaterThanOrEqual(7)
    for (const member of ['first', 'second'])
      expect(
        sampleOf(text, `corral_member_call_seconds_count{member="${member}",outcome="ok"}`),
      ).toBe(1)
  })

  test('counts tokens of models and members, and members that fail', () => {
    const metrics = createMetrics()
    const at = '2026-01-01T00:00:00.000Z'
    const entry = (fields: object) => ({ seq: 1, kind: 'trace', at, entry: { ...fields } }) as const
    metrics.stored([
      entry({ type: 'model', agent: 'm', inputTokens: 120, outputTokens: 8, costUsd: 0.02 }),
      entry({ type: 'reply', member: 'a', durationMs: 40, inputTokens: 120, outputTokens: 8 }),
      entry({ type: 'failure', member: 'a', durationMs: 2_000 }),
      entry({ type: 'delegation', member: 'a' }),
    ])
    const text = textOf(metrics)
    expect(checkMetrics(text)).toEqual([])
    const tokens = 'source="model",direction="input"'
    expect(sampleOf(text, `corral_tokens_sum{${tokens}}`)).toBe(120)
    expect(sampleOf(text, `corral_tokens_bucket{${tokens},le="100"}`)).toBe(0)
    expect(sampleOf(text, `corral_tokens_bucket{${tokens},le="500"}`)).toBe(1)
    const cost = 'source="model",name="m"'
    expect(sampleOf(text, `corral_cost_usd_sum{${cost}}`)).toBe(0.02)
    expect(sampleOf(text, `corral_cost_usd_bucket{${cost},le="0.01"}`)).toBe(0)
    expect(sampleOf(text, `corral_cost_usd_bucket{${cost},le="0.05"}`)).toBe(1)
    const failed = 'member="a",outcome="failed"'
    expect(sampleOf(text, `corral_member_call_seconds_sum{${failed}}`)).toBe(2)
    expect(sampleOf(text, `corral_member_call_seconds_bucket{${failed},le="1"}`)).toBe(0)
    expect(sampleOf(text, `corral_member_call_seconds_bucket{${failed},le="2.5"}`)).toBe(1)
  })

  test('survives names that would break its lines, and too many of them', () => {
    const series = createSeries({ name: 'm', help: 'h', labels: ['who'], bounds: [1] })
    for (const who of ['a"b', 'a\\b', 'a\nb']) series.observe(1, who)
    for (let i = 0; i < 1_000; i++) series.observe(1, `n${i}`)
    const lines = series.lines()
    expect(checkMetrics(`${lines.join('\n')}\n`)).toEqual([])
    const counts = lines.filter((line) => line.startsWith('m_count'))
    expect(counts.length).toBeLessThanOrEqual(201)
    const total = counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    expect(total).toBe(1_003)
  })

  test('is for those who may call', async () => {
    const { url } = await openScene({ isClosed: true })
    expect((await ask(`${url}/metrics`)).status).toBe(401)
    expect((await ask(`${url}/metrics`, { headers: as('ann') })).status).toBe(200)
  })

  const promtool = spawnSync('promtool', ['--version']).status === 0

  test.skipIf(!promtool)('passes promtool', async () => {
    const scene = await openScene()
    await scene.send('a report', { agent: 'pair' })
    const { text } = await ask(`${scene.url}/metrics`)
    const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text })
    // 3: lint alone, such as a missing HELP.
    expect([0, 3], String(stderr)).toContain(status)
  })
})
