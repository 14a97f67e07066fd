import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { run } from '../../../src/cli/program.ts'
import { createGoldenAgent, createIdleAgent } from '../../../src/eval/agent/reference-agents.ts'
import { kestrel } from '../../../src/eval/domain/kestrel.ts'
import { createServer, type Listening, listen } from '../../../src/server/index.ts'
import { servePeer, v10Card } from '../../eval/serving.ts'

const script = fileURLToPath(new URL('../../fixtures/eval/cli.ts', import.meta.url))
const opened: Listening[] = []
let directory = ''
let [golden, idle] = ['', '']

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'eval-cli-'))
  const serve = async (agent: Parameters<typeof createServer>[0]['agents'][number]) => {
    const listening = await listen(await createServer({ agents: [agent] }), {
      port: 0,
      host: '127.0.0.1',
    })
    opened.push(listening)
    return listening.url
  }
  ;[golden, idle] = [await serve(createGoldenAgent(kestrel)), await serve(createIdleAgent())]
  vi.stubEnv('AGENT_TOKEN', 'very-secret')
  return async () => {
    vi.unstubAllEnvs()
    await Promise.all(opened.map((one) => one.close()))
    await rm(directory, { recursive: true })
  }
})

/** An agent that presents its card, and answers whatever is sent with a status. */
async function serveBroken(status: number): Promise<string> {
  const { url } = await servePeer(() => ({ status, body: '{}' }))
  return url
}

interface Ended {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
}

/** The command in a process of its own. */
async function spawned(...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, ['--import', 'tsx', script, 'eval', ...args])
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on('exit', resolve)),
  ])
  return { stdout, stderr, code }
}

/** The command in this process, which saves the seconds that a process takes to start. */
async function corral(...args: readonly string[]): Promise<Ended> {
  const written = { stdout: '', stderr: '' }
  const listen = (name: 'stdout' | 'stderr') =>
    vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
      written[name] += chunk
      return true
    })
  const spies = [listen('stdout'), listen('stderr')]
  try {
    const code = await run(['eval', ...args])
    return { ...written, code }
  } finally {
    for (const spy of spies) spy.mockRestore()
    process.exitCode = 0
  }
}

describe('corral eval run', () => {
  test('prints one JSON document, progress beside it, and leaves its files', async () => {
    const saveTo = join(directory, 'golden')
    const flags = ['run', '--domain', 'airline', '--agent-a2a-endpoint', golden, '--json']
    const { stdout, stderr, code } = await spawned(
      ...flags,
      '--save-to',
      saveTo,
      '--num-trials',
      '2',
    )
    expect(code).toBe(0)
    expect(stderr).toContain('Note: our airline is called kestrel; the one of tau2-bench is tau2:')
    const results = JSON.parse(stdout)
    expect(results.summary).toMatchObject({ total_simulations: 40, successes: 40 })
    expect(stderr).toMatch(/40\/40 [\w-]+: passed; 100\.0 % so far/)
    expect(JSON.parse(await readFile(join(saveTo, 'results.json'), 'utf8'))).toEqual(results)
    expect((await readdir(saveTo)).sort()).toEqual([
      'journal.jsonl',
      'journal.jsonl.lock',
      'junit.xml',
      'metrics.json',
      'metrics.jsonl',
      'report.html',
      'report.md',
      'results.json',
    ])
  })

  test('exits 0 whatever the score, and 1 where a gate fails', async () => {
    const flags = ['run', '--agent-a2a-endpoint', idle, '--save-to']
    const plain = await corral(...flags, join(directory, 'idle'))
    expect(plain.code).toBe(0)
    expect(plain.stdout).toMatch(/Score \(scripted user\) +25\.0 % \(95 %: 11\.2 % to 46\.9 %\)/)
    expect(plain.stdout).toMatch(/Doing nothing would score +25\.0 %/)
    const gated = await corral(
      ...flags,
      join(directory, 'gated'),
      '--baseline',
      join(directory, 'golden'),
      '--json',
    )
    expect(gated.code).toBe(1)
    expect(gated.stderr).toContain('Gate: The pass rate fell from 1 to 0.25')
    const { gate, comparison } = JSON.parse(gated.stdout)
    expect(gate.passed).toBe(false)
    expect(comparison.tasks).toContainEqual({
      task_id: 'bags-free',
      before: 1,
      after: 0,
      change: 'worse',
    })
  })

  test('maps the flags of the agent, and shows its messages with --a2a-debug, never its token', async () => {
    const flags = [
      '--agent-a2a-auth-token',
      'env:AGENT_TOKEN',
      '--agent-a2a-timeout',
      '7',
      '--a2a-debug',
    ]
    const some = ['--task-ids', 'departed,ask-departure', '--seed', '5', '--max-concurrency', '1']
    const { stdout, stderr, code } = await corral(
      ...[
        'run',
        '--agent-a2a-endpoint',
        `${idle}/`,
        '--save-to',
        join(directory, 'flags'),
        '--json',
      ],
      ...flags,
      ...some,
    )
    expect(code).toBe(0)
    const { info, simulations } = JSON.parse(stdout)
    expect(info).toMatchObject({ seed: 5, agent_info: { endpoint: idle } })
    expect(simulations.map((one: { task_id: string }) => one.task_id)).toEqual([
      'ask-departure',
      'departed',
    ])
    expect(stderr).toContain('debug to the agent')
    expect(stderr).toContain('<available_tools>')
    expect(stdout + stderr).not.toContain('very-secret')
  })

  test('exits 2 where it cannot run, and says why', async () => {
    const why = async (...args: string[]) => {
      const { code, stderr, stdout } = await corral(
        'run',
        ...args,
        '--save-to',
        join(directory, 'none'),
      )
      expect([code, stdout]).toEqual([2, ''])
      return stderr
    }
    expect(await why()).toContain('--agent-a2a-endpoint is required when using a2a_agent')
    expect(await why('--agent-a2a-endpoint', 'ftp://x')).toContain(
      'endpoint must start with http:// or https://, got ftp://x',
    )
    expect(await why('--agent-a2a-endpoint', idle, '--agent-a2a-timeout', '0')).toContain(
      'timeout must be positive, got 0',
    )
    for (const flag of ['--agent-a2a-timeout', '--task-timeout'])
      expect(await why('--agent-a2a-endpoint', idle, flag, '400000000')).toContain('ten years')
    expect(await why('--agent-a2a-endpoint', idle, '--user', 'llm')).toContain(
      '--user-llm is required',
    )
    expect(await why('--agent-a2a-endpoint', idle, '--task-split-name', 'x')).toContain(
      'no split x',
    )
    expect(await why('--agent-a2a-endpoint', idle, '--resume')).toContain(
      'There is no run to resume',
    )
    expect(await why('--agent-a2a-endpoint', 'http://127.0.0.1:9')).toContain('No agent card at')
    expect(await why('--agent-a2a-endpoint', idle, '--domain', 'nowhere')).toContain(
      'There is no domain',
    )
  })

  test('exits 2 where nothing was measured, with the results and the reason', async () => {
    const broken = await serveBroken(503)
    const flags = ['--num-tasks', '2', '--max-retries', '0', '--save-to', join(directory, 'broken')]
    const { code, stdout, stderr } = await corral('run', broken, ...flags)
    expect(code).toBe(2)
    expect(stdout).toMatch(/Faults +agent 0, user 0, infrastructure 2/)
    expect(stderr).toMatch(/^corral: Nothing was measured: .*503/m)
  })

  test('takes the URL of the agent as its argument', async () => {
    const some = ['--task-ids', 'departed', '--json', '--save-to']
    const { code, stdout } = await corral('run', idle, ...some, join(directory, 'argument'))
    expect(code).toBe(0)
    expect(JSON.parse(stdout).info.agent_info.endpoint).toBe(idle)
    const both = await corral('run', idle, '--agent-a2a-endpoint', golden)
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('twice')])
    const own = await corral('run', idle, '--agent', 'golden')
    expect([own.code, own.stderr]).toEqual([2, expect.stringContaining('--agent golden')])
  })

  test('exits 2 for a flag that there is not', async () => {
    const { code, stderr } = await spawned('run', '--no-such-flag')
    expect([code, stderr]).toEqual([2, expect.stringContaining('unknown option')])
  })

  test('refuses a port that is none, before it serves', async () => {
    const { code, stderr } = await spawned('serve', '--port', '99999')
    expect([code, stderr]).toEqual([2, expect.stringContaining('from 0 to 65535')])
  })

  test('takes the user, the prices and the tasks that it is given', async () => {
    const prices = fileURLToPath(new URL('../../../examples/eval/prices.json', import.meta.url))
    const { stdout, code } = await corral(
      ...[
        'run',
        '--agent-a2a-endpoint',
        golden,
        '--save-to',
        join(directory, 'replayed'),
        '--json',
      ],
      ...['--user', 'replay', '--user-recording', join(directory, 'golden'), '--prices', prices],
      ...['--task-split-name', 'base', '--num-tasks', '3', '--agent-a2a-no-verify-ssl'],
    )
    expect(code).toBe(0)
    const { info, summary } = JSON.parse(stdout)
    expect(info.user_info.implementation).toBe('replay')
    expect(summary).toMatchObject({ successes: 3, cost: { agent_usd: expect.any(Number) } })
  })

  test('repeats a run, and shows the spread', async () => {
    const saveTo = join(directory, 'repeated')
    const { stdout } = await corral(
      ...['run', '--agent-a2a-endpoint', idle, '--repeat', '2', '--num-tasks', '4'],
      ...['--save-to', saveTo, '--json'],
    )
    const { runs, spread } = JSON.parse(stdout)
    expect(runs).toHaveLength(2)
    expect(spread).toEqual({ runs: 2, mean: 0.5, deviation: 0, lowest: 0.5, highest: 0.5 })
    expect((await readdir(saveTo)).sort()).toEqual(['run-1', 'run-2'])
  })
})

describe('corral eval', () => {
  test('rescores, reports, compares and lists what was recorded', async () => {
    const [before, after] = [join(directory, 'golden'), join(directory, 'idle')]
    const rescored = await corral('rescore', before)
    expect(rescored.stdout).toBe('40 simulations scored again, 0 rewards changed\n')
    const file = join(directory, 'report.html')
    expect((await corral('report', after, '--html', file)).code).toBe(0)
    expect(await readFile(file, 'utf8')).toContain('Idle agent on kestrel')
    expect((await corral('report', after)).stdout).toContain(
      '# Evaluation of Idle agent on kestrel',
    )
    const compared = await corral('compare', before, after)
    expect(compared.code).toBe(1)
    expect(compared.stdout).toMatch(/^100\.0 % → 25\.0 %\n/)
    expect((await corral('compare', before, after, '--max-drop', '0.8')).code).toBe(0)
    expect((await corral('compare', after, before, '--json')).code).toBe(0)
    const listed = JSON.parse((await corral('list', '--dir', directory, '--json')).stdout)
    expect(listed.domains).toEqual([{ name: 'kestrel', tasks: 20 }])
    expect(listed.evaluations.map((one: { evaluation_id: string }) => one.evaluation_id)).toContain(
      'golden',
    )
    const broken = join(directory, 'broken.json')
    await writeFile(broken, JSON.stringify(v10Card('http://x.example')))
    expect((await corral('report', broken)).code).toBe(2)
  })
})
