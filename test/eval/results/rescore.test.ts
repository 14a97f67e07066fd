import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findDomainOf } from '../../../src/eval/domain/load.ts'
import {
  checkGate,
  compareResults,
  passRate,
  rescore,
  spreadOf,
} from '../../../src/eval/results/compare.ts'
import { type EvalResults, parseResults, requireOwn } from '../../../src/eval/results/results.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { loadResults } from '../../../src/eval/run/journal.ts'
import { agentMessage, agentSays, servePeer } from '../serving.ts'
import { addTask, smallDomain } from '../small-domain.ts'
import { besideData, dataDirectory, hasVectors } from '../tau2/vectors.ts'

const call = { tool_call: { name: 'add_book', arguments: { title: 'Ulysses' } } }

/** A run of so many tasks, of which the first ones are solved. */
async function runOf(solved: number, of: number): Promise<EvalResults> {
  const tasks = Array.from({ length: of }, (_, i) =>
    addTask({
      id: `task-${i}`,
      user_script: {
        opening: i < solved ? 'Please add Ulysses.' : 'Hm.',
        replies: [{ when: 'added|sorry', stop: true }],
      },
    }),
  )
  const peer = await servePeer(({ params: { message } }) => {
    const contextId = message.contextId ?? crypto.randomUUID()
    if (message.contextId) return agentSays('Added, 2.', contextId)
    if (!JSON.stringify(message.parts.at(-1)).includes('Ulysses'))
      return agentSays('Sorry', contextId)
    return { result: { message: agentMessage([{ data: call }], contextId) } }
  })
  return runEvaluation({ agent: { endpoint: peer.url }, domain: smallDomain(tasks) })
}

describe('scoring again', () => {
  test('gives the same rewards without calling the agent', async () => {
    const results = await runOf(2, 3)
    const recorded = parseResults(JSON.parse(JSON.stringify(results)))
    const report = await rescore(recorded, { domain: smallDomain(results.tasks) })
    expect(report.changed).toBe(0)
    expect(JSON.stringify(report.results)).toBe(JSON.stringify(results))
  })

  test('scores by the tasks of today', async () => {
    const results = await runOf(1, 1)
    const stricter = results.tasks.map((task) => ({
      ...task,
      evaluation_criteria: { ...task.evaluation_criteria, communicate_info: ['three'] },
    }))
    const recorded = parseResults(JSON.parse(JSON.stringify(results)))
    const report = await rescore(recorded, { domain: smallDomain(stricter) })
    expect(report.changed).toBe(1)
    expect(report.results?.summary.successes).toBe(0)
  })

  test("reads tau2's results, with the golden actions that the record names", async () => {
    const action = {
      action_id: '1_0',
      name: 'add_book',
      arguments: { title: 'Ulysses' },
      info: null,
    }
    const tau2 = {
      timestamp: '2025-11-23T10:30:45',
      info: { environment_info: { domain_name: 'shelf' } },
      tasks: [],
      simulations: [
        {
          id: 's1',
          task_id: 27,
          termination_reason: 'user_stop',
          messages: [
            { role: 'assistant', content: 'Hi!', tool_calls: null, turn_idx: 0 },
            {
              role: 'assistant',
              content: null,
              tool_calls: [{ id: 'c', name: 'add_book', arguments: { title: 'Ulysses' } }],
            },
            { role: 'tool', id: 'c', content: '{"count": 2}', requestor: 'assistant' },
          ],
          reward_info: {
            reward: 0,
            action_checks: [{ action, action_match: true, action_reward: 1 }],
            reward_basis: ['DB', 'COMMUNICATE'],
          },
        },
      ],
    }
    const report = await rescore(parseResults(tau2), { domain: smallDomain() })
    expect(report).toMatchObject({ changed: 1, results: undefined })
    expect(report.changes).toEqual([
      { id: 's1', task_id: '27', trial: 0, what: 'reward', recorded: 0, now: 1 },
    ])
    expect(report.simulations[0]).toMatchObject({
      task_id: '27',
      recorded_reward: 0,
      reward_info: { reward: 1, info: {} },
    })
    expect(() => requireOwn(parseResults(tau2))).toThrow('not results of corral eval')
  })

  for (const name of ['airline', 'retail'])
    test(`reads the recorded ${name} conversations of tau2`, async () => {
      const file = new URL(`../../../../shared/tau2/recorded/to_${name}.json`, import.meta.url)
      if (!existsSync(file))
        return console.warn(`NOT TESTED: ${name} recordings of tau2 are not here`)
      const { simulations, domain } = parseResults(JSON.parse(await readFile(file, 'utf8')))
      expect(simulations).toHaveLength(name === 'airline' ? 50 : 114)
      expect(domain).toBe(name)
      const calls = simulations.flatMap(({ messages }) =>
        messages.flatMap((message) => (message.role === 'tool' ? [message.id] : [])),
      )
      expect(calls).toHaveLength(name === 'airline' ? 581 : 873)
      for (const { criteria } of simulations) expect(criteria).toBeDefined()
    })

  for (const [name, count] of [
    ['airline', 50],
    ['retail', 114],
  ] as const)
    test.skipIf(!hasVectors)(`gives every recorded verdict of tau2's ${name} again`, async () => {
      const recorded = await loadResults(besideData(`recorded/to_${name}.json`))
      const domain = await findDomainOf(recorded, undefined, { directory: dataDirectory })
      const { simulations, changes } = await rescore(recorded, { domain })
      expect(simulations).toHaveLength(count)
      expect(changes).toEqual([])
      for (const { reward_info } of simulations) expect(reward_info.info).toEqual({})
    })

  test('lists every verdict that changed, and keeps those of the judge', async () => {
    const met = { nl_assertion: 'The agent is kind.', met: true, justification: 'It is.' }
    const said = { info: '2', met: false }
    const file = (reward: object): object => ({
      info: {},
      tasks: [addTask()],
      simulations: [
        {
          id: 's',
          task_id: 'add-ulysses',
          trial: 1,
          messages: [{ role: 'assistant', content: 'Now 2.' }],
          reward_info: { reward: 0, reward_basis: ['DB', 'NL_ASSERTION'], ...reward },
        },
      ],
    })
    const again = (reward: object) => rescore(parseResults(file(reward)), { domain: smallDomain() })
    const db_check = { db_match: false, db_reward: 0 }
    const { changes } = await again({ db_check, nl_assertions: [met], communicate_checks: [said] })
    const place = { id: 's', task_id: 'add-ulysses', trial: 1 }
    expect(changes).toEqual([
      { ...place, what: 'reward', recorded: 0, now: 1 },
      { ...place, what: 'DB: final state is the golden one', recorded: false, now: true },
      { ...place, what: 'COMMUNICATE: said "2"', recorded: false, now: true },
    ])
  })

  test("reads tau2's results whose simulations have files of their own", async () => {
    const directory = await mkdtemp(join(tmpdir(), 'eval-tau2-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    await mkdir(join(directory, 'simulations'))
    const head = { info: {}, tasks: [], simulation_index: [{ id: 'a' }] }
    await writeFile(join(directory, 'results.json'), JSON.stringify(head))
    const one = { id: 'a', task_id: '1', messages: [] }
    await writeFile(join(directory, 'simulations', 'a.json'), JSON.stringify(one))
    expect((await loadResults(directory)).simulations).toMatchObject([{ id: 'a', task_id: '1' }])
  })

  test('refuses what are no results, with the place of the fault', () => {
    expect(() => parseResults({ info: {}, tasks: [], simulations: [{ id: 's' }] })).toThrow(
      /simulations\.0\.task_id/,
    )
  })
})

describe('the domain of recorded results', () => {
  const tau2 = parseResults({
    info: { environment_info: { domain_name: 'mock' } },
    tasks: [],
    simulations: [],
  })

  test('is one of tau2 where the results are tau2, never one of ours', async () => {
    const mock = await findDomainOf(tau2, undefined, { environment: {} })
    expect(mock.name).toBe('tau2:mock')
    expect(() => findDomainOf(tau2, 'kestrel')).toThrow('score them by tau2:mock')
    expect(() => findDomainOf({ ...tau2, domain: 'airline' }, 'airline')).toThrow('not of our')
    await expect(findDomainOf({ ...tau2, domain: 'kestrel' }, undefined)).rejects.toThrow(
      'There is no domain tau2:kestrel',
    )
  })

  test('is ours under its old name where the results are ours', async () => {
    const own = await runOf(1, 1)
    const domain = await findDomainOf({ ...tau2, own, domain: 'airline' }, undefined)
    expect(domain.name).toBe('kestrel')
  })
})

describe('comparing runs', () => {
  test('tells which tasks became better or worse', async () => {
    const [before, after] = [await runOf(2, 3), await runOf(1, 4)]
    const comparison = compareResults(before, after)
    expect(comparison).toMatchObject({ before: 0.666667, after: 0.25, within_noise: true })
    expect(comparison.tasks.map(({ task_id, change }) => [task_id, change])).toEqual([
      ['task-0', 'same'],
      ['task-1', 'worse'],
      ['task-2', 'same'],
      ['task-3', 'new'],
    ])
    expect(comparison.same_config).toBe(false)
  })

  test('fails the gate that a run does not reach, and only that', async () => {
    const [good, bad] = [await runOf(3, 4), await runOf(1, 4)]
    expect(checkGate(bad, {}).passed).toBe(true)
    expect(checkGate(bad, { failUnder: 0.25 }).passed).toBe(true)
    expect(checkGate(bad, { failUnder: 0.26 }).reasons).toEqual([
      'The pass rate 0.25 is under 0.26',
    ])
    expect(checkGate(bad, {}, good).reasons[0]).toContain('fell from 0.75 to 0.25')
    expect(checkGate(bad, { maxDrop: 0.5 }, good).passed).toBe(true)
    expect(checkGate(good, {}, bad).passed).toBe(true)
    const nothing = { ...bad, simulations: [] }
    expect(checkGate(nothing, { failUnder: 0 })).toEqual({
      passed: false,
      reasons: ['Nothing was scored'],
    })
    expect(passRate(nothing)).toBeNull()
  })

  test('knows a domain by the name that it had, and no other', async () => {
    const run = await runOf(1, 2)
    const named = (domain_name: string): EvalResults => ({
      ...run,
      info: { ...run.info, environment_info: { ...run.info.environment_info, domain_name } },
    })
    expect(checkGate(named('kestrel'), {}, named('airline')).passed).toBe(true)
    expect(checkGate(named('kestrel'), {}, named('tau2:airline')).reasons).toEqual([
      'The baseline is of tau2:airline, not of kestrel',
    ])
  })

  test('shows how much repeated runs differ', async () => {
    const [a, b] = [await runOf(1, 4), await runOf(3, 4)]
    expect(spreadOf([a, b])).toEqual({
      runs: 2,
      mean: 0.5,
      deviation: 0.353553,
      lowest: 0.25,
      highest: 0.75,
    })
    expect(spreadOf([a]).deviation).toBeNull()
    expect(spreadOf([])).toMatchObject({ runs: 0, mean: null })
  })
})
