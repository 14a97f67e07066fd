import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Agent } from '../../../src/agents/agent.ts'
import { createGoldenAgent } from '../../../src/eval/agent/reference-agents.ts'
import { kestrel } from '../../../src/eval/domain/kestrel.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { createDeferred, isAsyncIterable } from '../../../src/shared/async.ts'
import { agentSays, serveAgent, servePeer } from '../serving.ts'
import { smallDomain } from '../small-domain.ts'

const script = fileURLToPath(new URL('../../fixtures/eval/run.ts', import.meta.url))

function start(...args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], { stdio: 'inherit' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function finish(child: ChildProcess): Promise<void> {
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
}

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'eval-resume-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

/** An agent that stops answering at a message, until it is let go. */
function holding(
  agent: Agent,
  at: number,
): { agent: Agent; reached: Promise<void>; release(): void } {
  const [reached, released] = [createDeferred<void>(), createDeferred<void>()]
  let messages = 0
  return {
    agent: {
      ...agent,
      async process(message, turn) {
        if (++messages >= at) {
          reached.resolve()
          await released.promise
        }
        const answer = await agent.process(message, turn)
        if (isAsyncIterable(answer)) throw new Error('The golden agent answers at once')
        return answer
      },
    },
    reached: reached.promise,
    release: () => released.resolve(),
  }
}

const times = /^(timestamp|start_time|end_time|duration|harness_lag|latency_ms|.*_latency_ms)$/
const ids = /^(id|request_id|context_id)$/

/** The results without times and ids, which no two runs share. */
async function comparable(path: string): Promise<unknown> {
  const text = await readFile(join(path, 'results.json'), 'utf8')
  return JSON.parse(text, (key, value) => {
    if (times.test(key)) return 'time'
    return ids.test(key) && typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value)
      ? 'id'
      : value
  })
}

describe('a run that is killed', () => {
  test('and resumed has the results of one that was not', async () => {
    const held = holding(createGoldenAgent(kestrel), 30)
    const url = await serveAgent(held.agent)
    const root = await directory()
    const killed = start(url, join(root, 'killed'))
    await held.reached
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    const journal = join(root, 'killed', 'journal.jsonl')
    const before = (await readFile(journal, 'utf8')).trimEnd().split('\n').length
    expect(before).toBeGreaterThan(5)
    await expect(readFile(join(root, 'killed', 'results.json'))).rejects.toThrow('ENOENT')
    await appendFile(journal, '{"kind":"simulation","simulation":{"id":"cut o') // a line half written
    held.release()
    await finish(start(url, join(root, 'killed'), 'resume'))
    await finish(start(url, join(root, 'whole')))
    const [resumed, whole] = [
      await comparable(join(root, 'killed')),
      await comparable(join(root, 'whole')),
    ]
    expect(resumed).toEqual(whole)
    expect(whole).toMatchObject({ summary: { total_simulations: 40, successes: 40 } })
    const after = (await readFile(journal, 'utf8')).trimEnd().split('\n').length
    expect(after).toBe(1 + 40)
  })
})

test('a folder has one run at a time', async () => {
  const held = holding(createGoldenAgent(kestrel), 1)
  const url = await serveAgent(held.agent)
  const saveTo = join(await directory(), 'run')
  const other = start(url, saveTo)
  await held.reached
  const before = await readFile(join(saveTo, 'journal.jsonl'), 'utf8')
  const run = { agent: { endpoint: url }, domain: kestrel, numTrials: 2, saveTo }
  for (const resume of [false, true])
    await expect(runEvaluation({ ...run, resume })).rejects.toThrow(
      `Another run writes into ${saveTo} (process ${other.pid} is using it`,
    )
  expect(await readFile(join(saveTo, 'journal.jsonl'), 'utf8')).toBe(before)
  held.release()
  await finish(other)
  // The lock goes with its run.
  await expect(runEvaluation(run)).rejects.toThrow('results here already')
})

describe('resuming', () => {
  test('does again what infrastructure prevented, and nothing else', async () => {
    let open = false
    const peer = await servePeer(() => (open ? agentSays('Sorry') : { status: 503, body: '' }))
    const run = {
      agent: { endpoint: peer.url },
      domain: smallDomain(),
      saveTo: join(await directory(), 'run'),
      maxRetries: 0,
    }
    const first = await runEvaluation(run)
    expect(first.summary.faults.infrastructure).toBe(1)
    open = true
    const second = await runEvaluation({ ...run, resume: true })
    expect(second.summary).toMatchObject({ total_simulations: 1, measured: 1 })
    expect(second.id).toBe(first.id)
    const sends = peer.requests.length
    await runEvaluation({ ...run, resume: true })
    expect(peer.requests.length).toBe(sends + 1) // the card alone
  })

  test('is refused under another configuration, and starting anew over results too', async () => {
    const peer = await servePeer(() => agentSays('Sorry'))
    const saveTo = join(await directory(), 'run')
    const run = { agent: { endpoint: peer.url }, domain: smallDomain(), saveTo }
    await runEvaluation(run)
    await expect(runEvaluation(run)).rejects.toThrow('results here already')
    await expect(runEvaluation({ ...run, resume: true, maxSteps: 5 })).rejects.toThrow(
      'another configuration',
    )
    const nowhere = { agent: run.agent, domain: run.domain, resume: true }
    await expect(runEvaluation(nowhere)).rejects.toThrow('say where')
  })
})
