import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Tau2Environment } from '../../../src/eval/tau2/environment.ts'
import type { JsonObject } from '../../../src/protocol/types.ts'
import { compareTask } from './compare.ts'
import { compareRecording, recordings } from './recorded.ts'
import { compareSequences } from './sequences.ts'
import { besideData, goldenTasks, hasVectors, loadDomain, type Tau2Domain } from './vectors.ts'

/** How many tasks there are, and how many of them the fast part leaves out between two; `npm run tau2` does all. */
const sizes = { retail: [114, 6], airline: [50, 4], telecom: [2285, 50] } as const

describe.skipIf(!hasVectors).each(Object.entries(sizes))("tau2's %s", (name, [count, stride]) => {
  let domain: Tau2Domain
  beforeAll(async () => {
    domain = await loadDomain(name)
  })

  test('gives the hashes and the golden outputs of a sample of tasks', async () => {
    const golden = goldenTasks(name)
    expect(golden.length).toBe(count)
    for (const one of golden.filter((_, index) => index % stride === 0)) {
      const { differences, copies } = await compareTask(domain, one)
      expect(differences).toEqual([])
      expect(copies.rows).toBeLessThan(copies.total / 2)
    }
  })

  test.skipIf(name === 'telecom')('answers a sample of recordings byte for byte', async () => {
    for (const one of recordings(name).filter((_, index) => index % 10 === 0))
      expect(await compareRecording(domain, one)).toEqual([])
  })

  test('answers right, wrong and absurd calls as Python does', async () => {
    expect(await compareSequences(domain, name)).toEqual([])
  })

  test('describes its tools as tau2 does', async () => {
    const vectors = JSON.parse(readFileSync(besideData('vectors/tool_schemas.json'), 'utf8'))[name]
    const world = await domain.open({ id: '' })
    const wrap = (tools: readonly object[]): object[] =>
      tools.map((one) => ({ type: 'function', function: one }))
    expect(JSON.stringify(wrap(world.tools))).toBe(JSON.stringify(vectors.tools))
    expect(wrap(world.userTools)).toEqual(vectors.user_tools ?? [])
    for (const { name: tool } of world.tools)
      expect(world.kindOf(tool, 'assistant')).toBe(vectors.types[tool])
  })

  test('keeps the changes of one world from all others', async () => {
    const [task] = goldenTasks(name).filter(({ init, gold }) => `${init}` !== `${gold}`)
    const before = await (await domain.open({ id: '' })).hash()
    if (task) await compareTask(domain, task)
    expect(await (await domain.open({ id: '' })).hash()).toEqual(before)
  })
})

describe.skipIf(!hasVectors)("a call of tau2's retail", () => {
  let world: Tau2Environment
  beforeAll(async () => {
    world = await (await loadDomain('retail')).open({ id: '' })
  })
  const answer = async (name: string, args: JsonObject): Promise<string> =>
    (await world.call({ id: '', name, arguments: args, requestor: 'assistant' })).content

  test('that exchanges nothing costs the int 0', async () => {
    const order = { order_id: '#W2378156', payment_method_id: 'credit_card_9513926' }
    const nothing = { item_ids: [], new_item_ids: [] }
    const content = await answer('exchange_delivered_order_items', { ...order, ...nothing })
    expect(content).toContain('"exchange_price_difference": 0,')
  })

  test.each([
    ['find_user_id_by_email', { email: 5 }, "Error: 'int' object has no attribute 'lower'"],
    ['get_order_details', { order_id: ['x'] }, "Error: unhashable type: 'list'"],
    ['calculate', { expression: '2 ** 3 // 3' }, '2.0'],
    ['calculate', { expression: 'abs(1)' }, 'Error: Invalid characters in expression'],
  ])('with arguments of any type works or raises as in Python: %s', async (name, args, words) => {
    expect(await answer(name, args)).toBe(words)
  })
})
