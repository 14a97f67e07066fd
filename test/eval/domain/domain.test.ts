import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { createGoldenAgent } from '../../../src/eval/agent/reference-agents.ts'
import { spoken } from '../../../src/eval/domain/domain.ts'
import { defineMcpDomain } from '../../../src/eval/domain/functions.ts'
import { kestrel } from '../../../src/eval/domain/kestrel.ts'
import { loadDomain, resolveDomain } from '../../../src/eval/domain/load.ts'
import { parseTasks } from '../../../src/eval/domain/replay.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { doNothingBaseline } from '../../../src/eval/run/journal.ts'
import { goldenUser, scriptedUser } from '../../../src/eval/users.ts'
import { textOf } from '../../../src/protocol/task.ts'
import { serveAgent } from '../serving.ts'
import { addTask, smallDomain } from '../small-domain.ts'
import '../../support/programs.ts'

const library = fileURLToPath(new URL('../../../examples/eval/library', import.meta.url))
const libraryMcp = fileURLToPath(new URL('../../../examples/eval/library-mcp', import.meta.url))

async function copyOf(directory: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'eval-domain-'))
  onTestFinished(() => rm(copy, { recursive: true }))
  await cp(directory, copy, { recursive: true })
  return copy
}

describe('the airline Kestrel', () => {
  test('has between 8 and 12 tools and 20 tasks that a scripted user can play', async () => {
    const [first] = kestrel.tasks
    if (!first) throw new Error('There are tasks')
    const { tools } = await kestrel.open(first)
    expect(tools).toHaveLength(12)
    expect(kestrel.tasks).toHaveLength(20)
    expect(new Set(kestrel.tasks.map((task) => task.user_script?.opening)).size).toBe(20)
    expect(parseTasks(JSON.parse(JSON.stringify(kestrel.tasks)))).toHaveLength(20)
  })

  test('has golden actions that all succeed', async () => {
    for (const task of kestrel.tasks) {
      const world = await kestrel.open(task)
      for (const action of task.evaluation_criteria?.actions ?? [])
        expect(await world.apply(action)).toMatchObject({ error: false })
    }
  })

  test('tells the caller what is wrong with a call', async () => {
    const [task] = kestrel.tasks
    if (!task) throw new Error('There are tasks')
    const world = await kestrel.open(task)
    const outcome = async (name: string, args: object) =>
      (await world.apply({ name, arguments: { ...args } })).content
    expect(await outcome('get_booking', { booking_ref: 'BK9' })).toBe('Error: No such booking')
    expect(await outcome('get_booking', {})).toBe('Error: booking_ref must be a string')
    expect(await outcome('change_flight', { booking_ref: 'BK1002', flight_id: 'KE110-0307' })).toBe(
      'Error: The flight is of another route',
    )
    const taken = { booking_ref: 'BK1003', flight_id: 'KE204-0304' }
    expect(await outcome('change_flight', taken)).toBe('Error: The flight is cancelled')
    expect(await outcome('cancel_booking', { booking_ref: 'BK1001' })).toContain('"refund":119')
    expect(await outcome('cancel_booking', { booking_ref: 'BK1001' })).toContain(
      'already cancelled',
    )
  })

  const lines: readonly [desk: string, caller: RegExp][] = [
    ['May I have your customer id?', /customer id is mira-holt/],
    ['I am sorry to hear that. Let me look into it.', /look into it/],
    ['You will get a refund of 119. Shall I go ahead?', /^Yes, please/],
    ['Your flight has been found. Would you like me to cancel it?', /^Yes, please/],
    ['Unfortunately that is not possible.', /###STOP###/],
    ["I've cancelled BK1001; 119 will be refunded.", /###STOP###/],
    ['BK1001 is now cancelled.', /###STOP###/],
  ]
  test('has callers who answer a desk that asks, and hang up when it is done', async () => {
    const [task] = kestrel.tasks
    if (!task) throw new Error('There are tasks')
    for (const [desk, caller] of lines) {
      const signal = new AbortController().signal
      const user = scriptedUser.start({ task, trial: 0, seed: 1, tools: [] })
      await user.next(spoken('assistant', 'Hi!'), signal)
      expect((await user.next(spoken('assistant', desk), signal)).content).toMatch(caller)
    }
  })

  test('is the same at the start of every simulation', async () => {
    const [task] = kestrel.tasks
    if (!task) throw new Error('There are tasks')
    const [a, b] = [await kestrel.open(task), await kestrel.open(task)]
    await a.apply({ name: 'cancel_booking', arguments: { booking_ref: 'BK1001' } })
    expect((await a.hash()).agent).not.toBe((await b.hash()).agent)
    expect(await b.hash()).toEqual(await (await kestrel.open(task)).hash())
  })
})

describe('a domain in plain files', () => {
  test('is loaded, and an agent that helps the user to help themselves solves it', async () => {
    const domain = await loadDomain(library)
    const golden = createGoldenAgent(domain)
    const asked = new Set<string>()
    const agent = defineAgent({ name: 'Librarian' }, (message, turn) => {
      const words = textOf(message.parts.slice(-1))
      if (!words.includes('locked') || asked.has(turn.contextId))
        return golden.process(message, turn)
      asked.add(turn.contextId)
      return turn.reply('Please unlock your card.')
    })
    const lender = defineAgent({ name: 'Librarian' }, (message, turn) => {
      const words = textOf(message.parts)
      if (!words.includes('I have unlocked it.')) return agent.process(message, turn)
      return turn.reply(
        '{"tool_call": {"name": "lend_book", "arguments": {"member_id": "m1", "book_id": "b1"}}}',
      )
    })
    const endpoint = await serveAgent(lender)
    const { simulations, summary } = await runEvaluation({ agent: { endpoint }, domain })
    expect(simulations.map((one) => [one.task_id, one.reward_info.reward])).toEqual([
      ['borrow', 1],
      ['reserve', 1],
      ['unlock-and-borrow', 1],
    ])
    expect(summary.do_nothing.successes).toBe(0)
    const [, , unlocked] = simulations
    expect(unlocked?.messages.filter(({ role }) => role === 'tool')).toMatchObject([
      { requestor: 'user', content: 'Your card is unlocked' },
      { requestor: 'assistant' },
    ])
  })

  test('is solved by the golden agent, who asks the user for their part', async () => {
    const domain = await loadDomain(library)
    const endpoint = await serveAgent(createGoldenAgent(domain))
    for (const user of [scriptedUser, goldenUser]) {
      const { summary } = await runEvaluation({ agent: { endpoint }, domain, user })
      expect(summary).toMatchObject({ successes: 3, total_simulations: 3 })
    }
  })

  test('names the file and the place of what is wrong in it', async () => {
    const copy = await copyOf(library)
    const broken = async (file: string, text: string): Promise<unknown> => {
      await writeFile(join(copy, file), text)
      return loadDomain(copy).catch((error) => error.message)
    }
    expect(await broken('tasks.json', '[{"user_scenario": 3}]')).toMatch(/Invalid tasks: 0\.id/)
    expect(await broken('tasks.json', '[{"id": "a"}, {"id": "a"}]')).toMatch(/ids must be unique/)
    expect(await broken('tasks.json', '[')).toMatch(/tasks\.json: .*JSON/)
    const script =
      '[{"id": "a", "user_script": {"opening": "x", "replies": [{"when": "so(?=x)"}]}}]'
    expect(await broken('tasks.json', script)).toMatch(
      /replies\.0\.when: is no pattern that can be used: looking ahead .* \(at character 3\)/,
    )
    expect(await broken('domain.json', '{"name": "x y"}')).toMatch(
      /Invalid domain: name: must be letters/,
    )
    await rm(join(copy, 'domain.json'))
    expect(await broken('tasks.json', '[]')).toMatch(/neither domain\.json nor domain\.toml/)
  })

  test('refuses a tools module without runnable tools', async () => {
    const copy = await copyOf(library)
    await writeFile(join(copy, 'tools.mjs'), 'export const tools = { a: { description: "a" } }')
    await expect(loadDomain(copy)).rejects.toThrow(/tools\.a/)
  })

  test('is told from a built-in one by its path', async () => {
    expect(await resolveDomain('kestrel')).toBe(kestrel)
    expect(await resolveDomain('airline')).toBe(kestrel)
    await expect(resolveDomain('libary')).rejects.toThrow(
      'There is no domain libary: built in are kestrel',
    )
    expect((await resolveDomain(library)).name).toBe('library')
  })

  test('starts a task from its own data and set-up', async () => {
    const task = addTask({
      initial_state: {
        initialization_data: { agent_data: { books: ['Nostromo'] } },
        initialization_actions: [{ env_type: 'assistant', func_name: 'burn', arguments: {} }],
      },
    })
    const world = await smallDomain([task]).open(task)
    expect(await world.snapshot()).toMatchObject({ agent: { books: [] } })
    const data = { agent_data: { books: ['Nostromo'] } }
    const given = addTask({ initial_state: { initialization_data: data } })
    const first = await smallDomain([given]).open(given)
    await first.apply({ name: 'add_book', arguments: { title: 'Emma' } })
    expect(data.agent_data.books).toEqual(['Nostromo'])
    expect(await first.snapshot()).toMatchObject({ agent: { books: ['Nostromo', 'Emma'] } })
  })
})

describe('a domain over an MCP server', () => {
  test('is played and scored by the final state of fresh servers', async () => {
    const domain = await loadDomain(libraryMcp)
    const endpoint = await serveAgent(createGoldenAgent(domain))
    const { simulations } = await runEvaluation({ agent: { endpoint }, domain })
    expect(simulations[0]?.reward_info).toMatchObject({
      reward: 1,
      reward_breakdown: { DB: 1, ENV_ASSERTION: 1 },
    })
    expect(await doNothingBaseline(domain, domain.tasks)).toEqual([
      { task_id: 'borrow', reward: 0 },
    ])
  })

  test('shows the agent what is not hidden, reads told from writes', async () => {
    const domain = await loadDomain(libraryMcp)
    const [task] = domain.tasks
    if (!task) throw new Error('There is a task')
    const world = await domain.open(task)
    onTestFinished(() => world.close())
    expect(world.tools.map(({ name }) => [name, world.kindOf(name, 'assistant')])).toEqual([
      ['list_books', 'read'],
      ['lend_book', 'write'],
    ])
    const twice = { name: 'lend_book', arguments: { member_id: 'm1', book_id: 'b1' } }
    expect(await world.apply(twice)).toMatchObject({ error: false })
    expect(await world.apply(twice)).toEqual({
      content: 'Error: The book is not there',
      error: true,
    })
  })

  test('must show its state where tasks are scored by it, and be somewhere', () => {
    const domain = { name: 'x', policy: '', tasks: [addTask()] }
    expect(() => defineMcpDomain({ ...domain, world: { command: 'node' } })).toThrow(
      'no state resource',
    )
    expect(() => defineMcpDomain({ ...domain, world: {} })).toThrow('neither a command nor a URL')
  })
})
