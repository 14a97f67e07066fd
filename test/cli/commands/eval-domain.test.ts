import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { run } from '../../../src/cli/program.ts'
import { serveModel } from '../../eval/chat-server.ts'
import { besideData, dataDirectory, hasVectors } from '../../eval/tau2/vectors.ts'

const library = resolve(import.meta.dirname, '../../../examples/eval/library')
let directory = ''

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'eval-domain-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

interface Ended {
  readonly stdout: string
  readonly code: number
}

async function corral(...args: readonly string[]): Promise<Ended> {
  let stdout = ''
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      stdout += chunk
      return true
    }),
    vi.spyOn(process.stderr, 'write').mockImplementation(() => true),
  ]
  try {
    return { code: await run(['eval', ...args]), stdout }
  } finally {
    for (const spy of spies) spy.mockRestore()
    process.exitCode = 0
  }
}

async function callsFile(calls: string): Promise<string> {
  const path = join(directory, 'calls.json')
  await writeFile(path, calls)
  return path
}

describe('corral eval call', () => {
  test('executes calls in a world of tau2 and prints one document', async () => {
    const calls = await callsFile(
      `[{"name": "update_task_status", "requestor": "assistant", "arguments": {"task_id": "task_1", "status": 2.0}},
        {"name": "dismiss_notification", "requestor": "user", "arguments": {"notification_id": "none"}},
        {"name": "get_users"}]`,
    )
    const { stdout, code } = await corral('call', 'tau2:mock', '--calls', calls, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      outputs: [
        { content: expect.stringContaining('"status": 2.0}'), error: false },
        { content: 'Error: Notification none not found', error: true },
        { content: expect.stringContaining('"user_id": "user_1"'), error: false },
      ],
      agent_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      user_hash: '4cf3d22eed6962ba202c8738421d8a2286d2b5a0cad1372922c928be09ccbfac',
    })
  })

  test("begins after a task's set-up, its message history included", async () => {
    const calls = await callsFile('[]')
    const task = ['--task', 'update_task_with_message_history', '--json']
    const { stdout } = await corral('call', 'tau2:mock', '--calls', calls, ...task)
    expect(JSON.parse(stdout).agent_hash).toBe(
      '7229fa1c72600a794b787e13dee3b9b9d517fef8a4f9d8c63be7c5f561b890f1',
    )
  })

  test('works in a domain of files, and in words', async () => {
    const calls = await callsFile('[{"name": "find_book", "arguments": {"title": "ships"}}]')
    const { stdout, code } = await corral('call', library, '--calls', calls)
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: /^find_book: .*Long Ships/ })
  })

  test.each([
    ['tau2:nothing', '[]', "tau2's are"],
    ['tau2:mock', '{"name": "x"}', 'Invalid calls'],
    ['tau2:mock', '[', 'no JSON'],
  ])('says why it cannot run in %s with %s', async (domain, text, words) => {
    const ended = await corral('call', domain, '--calls', await callsFile(text), '--json')
    expect(ended.code).toBe(2)
    expect(JSON.parse(ended.stdout).error.message).toContain(words)
  })
})

describe('corral eval check', () => {
  test('finds nothing in a sound domain', async () => {
    const { stdout, code } = await corral('check', library, '--json')
    expect(JSON.parse(stdout)).toEqual({
      ...{ domain: 'library', tasks: 3, findings: [] },
      ...{ oracle: { passed: 3, of: 3 }, idle: { passed: 0, of: 3 } },
    })
    expect(code).toBe(0)
  })

  test('only warns of a task that doing nothing passes', async () => {
    const { stdout, code } = await corral('check', 'airline')
    expect(stdout).toMatch(/warning +idle +departed +Doing nothing passes/)
    expect(stdout).toContain('The golden actions pass 20 of 20, doing nothing 5.')
    expect(code).toBe(0)
  })

  test("gives tau2's mock the score that tau2 gives it, and names its files", async () => {
    const { stdout, code } = await corral('check', 'tau2:mock', '--json')
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ oracle: { passed: 8, of: 10 }, idle: { passed: 1, of: 10 } })
    expect(report.manifest['tau2/domains/mock/db.json']).toMatch(/^[0-9a-f]{64}$/)
    expect(code).toBe(1)
  })

  test('finds planted mistakes', async () => {
    const planted = join(directory, 'planted')
    await cp(library, planted, { recursive: true })
    const path = join(planted, 'tasks.json')
    const [borrow] = JSON.parse(await readFile(path, 'utf8'))
    const task = (id: string, over: object, state?: object): object => ({
      ...{ ...borrow, id },
      evaluation_criteria: { ...borrow.evaluation_criteria, ...over },
      ...(state && { initial_state: state }),
    })
    const action = (name: string, args: object): object => ({
      actions: [{ name, arguments: args }],
    })
    const assertion = { env_type: 'assistant', func_name: 'is_painted', arguments: {} }
    const setUp = { env_type: 'user', func_name: 'unlock_all', arguments: {} }
    await writeFile(
      path,
      JSON.stringify([
        task('tool', action('paint_book', {})),
        task('schema', action('lend_book', { member_id: 'm1', book_id: 5 })),
        task('raises', action('lend_book', { member_id: 'm1', book_id: 'b99' })),
        task('assertion', { env_assertions: [assertion], reward_basis: ['ENV_ASSERTION'] }),
        task('set-up', {}, { initialization_actions: [setUp] }),
        task('idle', { actions: [], communicate_info: [] }),
      ]),
    )
    const { stdout, code } = await corral('check', planted, '--json')
    const found = JSON.parse(stdout).findings.map(
      ({ task_id, kind }: { task_id: string; kind: string }) => `${task_id}: ${kind}`,
    )
    expect(found).toEqual(
      expect.arrayContaining([
        'tool: unknown tool',
        'schema: schema',
        'raises: raises',
        'assertion: assertion',
        'assertion: oracle',
        'set-up: set-up',
        'idle: idle',
        'borrow: split',
      ]),
    )
    expect(code).toBe(1)
  })
})

describe('corral eval run in a self-test', () => {
  test('plays both sides by the golden actions, over A2A', async () => {
    const saveTo = ['--save-to', join(directory, 'golden'), '--json']
    const flags = ['--domain', 'tau2:mock', '--agent', 'golden', '--user', 'golden']
    const { stdout, code } = await corral('run', ...flags, ...saveTo)
    const { summary, info } = JSON.parse(stdout)
    expect({ code, ...summary }).toMatchObject({ code: 0, successes: 8, scored: 10 })
    expect(Object.keys(info.environment_info.manifest)).toContain('tau2/domains/mock/tasks.json')
  })

  test('finds a user for the idle agent where tasks have no script', async () => {
    const saveTo = ['--save-to', join(directory, 'idle')]
    const { stdout } = await corral('run', '--domain', 'tau2:mock', '--agent', 'idle', ...saveTo)
    expect(stdout).toMatch(/Score \(golden user\) +10\.0 %/)
  })

  test.skipIf(!hasVectors)("scores tau2's own results again, by tau2's domain", async () => {
    const recorded = besideData('recorded/to_airline.json')
    const data = ['--tau2-data', dataDirectory ?? '']
    const { stdout } = await corral('rescore', recorded, ...data)
    expect(stdout).toBe('50 simulations scored again, 0 rewards changed\n')
    const refused = await corral('rescore', recorded, '--domain', 'airline', ...data)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
  })

  test('gives the model of a role its own key and members of its requests', async () => {
    vi.stubEnv('USER_KEY', 'secret-of-the-user')
    const model = await serveModel(['Never mind. ###STOP###'])
    const flags = ['--domain', 'tau2:mock', '--agent', 'idle', '--num-tasks', '1', '--user', 'llm']
    const llm = ['--user-llm', 'm', '--user-llm-url', model.url, '--user-llm-key', 'env:USER_KEY']
    const args = ['--user-llm-args', '{"temperature": 0.5}', '--json']
    const saveTo = ['--save-to', join(directory, 'llm')]
    const { stdout } = await corral('run', ...flags, ...llm, ...args, ...saveTo)
    vi.unstubAllEnvs()
    expect(model.headers[0]?.authorization).toBe('Bearer secret-of-the-user')
    expect(model.requests[0]).toMatchObject({ model: 'm', temperature: 0.5 })
    expect(JSON.parse(stdout).info.user_info).toEqual({
      ...{ implementation: 'llm', llm: 'm', llm_args: { temperature: 0.5 } },
    })
    expect(stdout).not.toContain('secret-of-the-user')
    const wrong = await corral('run', '--agent', 'idle', '--user-llm-args', '[1]')
    expect(wrong).toMatchObject({ code: 2 })
  })

  test('needs an endpoint for the agents of others', async () => {
    expect(await corral('run', '--domain', 'tau2:mock')).toMatchObject({ code: 2 })
  })
})
