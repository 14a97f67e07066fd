import { describe, expect, test } from 'vitest'
import { loadTau2Domain } from '../../../src/eval/tau2/domain.ts'
import { compareTask } from './compare.ts'
import { compareSequences } from './sequences.ts'
import { goldenTasks, hasVectors, loadDomain, type Tau2Domain } from './vectors.ts'

const empty = { id: 'none' }

/** What a call answers in a fresh world of the shipped mock domain. */
async function answers(
  calls: readonly { readonly name: string; readonly arguments: Record<string, never | string> }[],
): Promise<readonly string[]> {
  const world = await (await shipped()).open(empty)
  const contents: string[] = []
  for (const call of calls)
    contents.push((await world.call({ id: '', requestor: 'assistant', ...call })).content)
  return contents
}

function shipped(): Promise<Tau2Domain> {
  return loadTau2Domain('tau2:mock', { environment: {} })
}

describe("tau2's mock domain", () => {
  test('ships with the package', async () => {
    const { name, tasks, policy, splits, manifest } = await shipped()
    expect({ name, tasks: tasks.length, splits: Object.keys(splits) }).toEqual({
      ...{ name: 'tau2:mock', tasks: 10, splits: ['base'] },
    })
    expect(policy).toContain('task')
    expect(Object.keys(manifest).sort()).toEqual([
      'tau2/domains/mock/db.json',
      'tau2/domains/mock/policy.md',
      'tau2/domains/mock/split_tasks.json',
      'tau2/domains/mock/tasks.json',
      'tau2/domains/mock/user_db.json',
    ])
  })

  test.skipIf(!hasVectors)('gives every hash and every golden output', async () => {
    const domain = await loadDomain('mock')
    const all = await Promise.all(goldenTasks('mock').map((one) => compareTask(domain, one)))
    expect(all.flatMap(({ differences }) => differences)).toEqual([])
    expect(all.length).toBe(10)
  })

  test('answers right, wrong and absurd calls as Python does', async () => {
    expect(await compareSequences(await shipped(), 'mock')).toEqual([])
  })

  test('explains wrong calls in the words of Python', async () => {
    expect(
      await answers([
        { name: 'create_task', arguments: { user_id: 'user_9', title: 'x' } },
        { name: 'create_task', arguments: { user_id: 'user_1' } },
        { name: 'create_task', arguments: {} },
        { name: 'create_task', arguments: { user_id: 'user_1', title: 'x', colour: 'red' } },
        { name: 'paint', arguments: {} },
      ]),
    ).toEqual([
      'Error: User user_9 not found',
      "Error: MockTools.create_task() missing 1 required positional argument: 'title'",
      "Error: MockTools.create_task() missing 2 required positional arguments: 'user_id' and 'title'",
      "Error: MockTools.create_task() got an unexpected keyword argument 'colour'",
      "Error: Tool 'paint' not found.",
    ])
  })

  test('refuses what pydantic refuses, and keeps what it lets pass', async () => {
    const world = await (await shipped()).open(empty)
    const call = (name: string, args: object): Promise<{ readonly content: string }> =>
      world.call({ id: '', requestor: 'assistant', name, arguments: { ...args } })
    const refused = await call('create_task', { user_id: 'user_1', title: 5 })
    expect(refused.content).toBe(
      'Error: 1 validation error for Task\ntitle\n  Input should be a valid string [type=string_type, input_value=5, input_type=int]\n    For further information visit https://errors.pydantic.dev/2.12/v/string_type',
    )
    const odd = await call('update_task_status', { task_id: 'task_1', status: 7 })
    expect(odd.content).toContain('"status": 7')
  })

  test('gives both sides one database where a task brings data', async () => {
    const domain = await shipped()
    const task = domain.tasks.find(({ id }) => id === 'update_task_with_initialization_data')
    const world = await domain.open(task ?? empty)
    const { agent, user } = await world.hash()
    expect(agent).toBe(user)
    const inbox = { id: '', requestor: 'user', name: 'check_notifications', arguments: {} } as const
    expect((await world.call(inbox)).content).toBe(
      "Error: 'MockDB' object has no attribute 'notifications'",
    )
  })

  test('says where the data of the others is to be had', async () => {
    await expect(loadTau2Domain('tau2:retail', { environment: {} })).rejects.toThrow(
      'CORRAL_TAU2_DATA',
    )
    await expect(loadTau2Domain('tau2:bank')).rejects.toThrow('tau2:mock')
  })
})
