import { describe, expect, test } from 'vitest'
import {
  type ConversationMessage,
  type EvalTask,
  type GoldAction,
  spoken,
  type ToolCall,
} from '../../../src/eval/domain/domain.ts'
import { toHtml } from '../../../src/eval/report.ts'
import { rescore } from '../../../src/eval/results/compare.ts'
import { parseResults } from '../../../src/eval/results/results.ts'
import type { TerminationReason } from '../../../src/eval/results/simulation.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { doNothingBaseline } from '../../../src/eval/run/journal.ts'
import { scoreConversation } from '../../../src/eval/scorers/built-in.ts'
import type { Scorer } from '../../../src/eval/scorers/scorer.ts'
import { agentSays, servePeer } from '../serving.ts'
import { addTask, smallDomain } from '../small-domain.ts'

const signal = new AbortController().signal
const add = (title: string, id = 'c1'): ToolCall => ({
  id,
  name: 'add_book',
  arguments: { title },
  requestor: 'assistant',
})
const calls = (...list: ToolCall[]): ConversationMessage => spoken('assistant', null, list)
const solved = [calls(add('Ulysses')), spoken('assistant', 'Now there are 2.')]

async function score(
  messages: readonly ConversationMessage[],
  task: EvalTask = addTask(),
  termination: TerminationReason = 'user_stop',
) {
  return scoreConversation({ domain: smallDomain([task]), task, messages, termination, signal })
}

describe('the reward', () => {
  test('is one for the golden state and all facts told', async () => {
    const info = await score(solved)
    expect(info.reward).toBe(1)
    expect(info.reward_breakdown).toEqual({ DB: 1, COMMUNICATE: 1 })
    expect(info.db_check).toEqual({ db_match: true, db_reward: 1 })
  })

  test('is the product of its parts', async () => {
    expect((await score([calls(add('Ulysses'))])).reward_breakdown).toEqual({
      DB: 1,
      COMMUNICATE: 0,
    })
    expect((await score([spoken('assistant', '2')])).reward_breakdown).toEqual({
      DB: 0,
      COMMUNICATE: 1,
    })
    expect((await score([calls(add('Ulysses')), ...solved])).reward).toBe(1)
    expect((await score([calls(add('Dubliners', 'c2')), ...solved])).reward).toBe(0)
  })

  test('is nothing for a conversation that nobody ended, and no number for one that never was', async () => {
    for (const reason of ['max_steps', 'too_many_errors', 'agent_error', 'timeout'] as const)
      expect((await score(solved, addTask(), reason)).reward).toBe(0)
    const unmeasured = await score(solved, addTask(), 'infrastructure_error')
    expect(unmeasured.reward).toBeNull()
  })

  test('is one where a task has no criteria', async () => {
    expect((await score([], addTask({ evaluation_criteria: null }))).reward).toBe(1)
  })

  test('leaves out calls that were refused when the world is rebuilt', async () => {
    const refused: ConversationMessage = {
      id: 'c9',
      role: 'tool',
      content: 'Error: Invalid arguments',
      requestor: 'assistant',
      error: true,
      refused: true,
    }
    expect((await score([calls(add('Dubliners', 'c9')), refused, ...solved])).reward).toBe(1)
  })

  test('says when a replayed call comes out otherwise than recorded', async () => {
    const other: ConversationMessage = {
      id: 'c1',
      role: 'tool',
      content: '{"count": 99}',
      requestor: 'assistant',
      error: false,
    }
    expect((await score([...solved, other])).info.note).toContain('add_book')
    expect(
      (await score([...solved, { ...other, content: '{ "count": 2 }' }])).info.note,
    ).toBeUndefined()
  })

  test('is null, never 0 or 1, where nobody can judge a part', async () => {
    const task = addTask({
      evaluation_criteria: { nl_assertions: ['It is kind.'], reward_basis: ['DB', 'NL_ASSERTION'] },
    })
    const info = await score([], task)
    expect(info).toMatchObject({
      reward: null,
      reward_breakdown: { DB: 1, NL_ASSERTION: null },
      info: { unscored: ['NL_ASSERTION'] },
    })
    const empty = addTask({ evaluation_criteria: { reward_basis: ['NL_ASSERTION'] } })
    expect((await score([], empty)).reward).toBe(1)
  })

  test('takes a judge by his word', async () => {
    const task = addTask({
      evaluation_criteria: { nl_assertions: ['It is kind.'], reward_basis: ['NL_ASSERTION'] },
    })
    const judge = async (statements: readonly string[]) =>
      statements.map((nl_assertion) => ({ nl_assertion, met: false, justification: 'No' }))
    const domain = smallDomain([task])
    const info = await scoreConversation({
      domain,
      task,
      messages: [],
      termination: 'user_stop',
      judge,
      signal,
    })
    expect(info.reward).toBe(0)
  })

  test('counts an assertion that throws as not met, and says why', async () => {
    const assertion = (func_name: string) => ({
      env_type: 'assistant' as const,
      func_name,
      arguments: { title: 'Ulysses' },
    })
    const task = (name: string) =>
      addTask({
        evaluation_criteria: { env_assertions: [assertion(name)], reward_basis: ['ENV_ASSERTION'] },
      })
    expect((await score(solved, task('has_book'))).reward).toBe(1)
    expect((await score([], task('has_book'))).reward).toBe(0)
    const broken = await score(solved, task('no_such'))
    expect(broken.reward).toBe(0)
    expect(broken.env_assertions?.[0]?.note).toBe("The domain has no function 'no_such'")
  })
})

describe('actions', () => {
  const gold = (over: Partial<GoldAction> = {}): GoldAction => ({
    name: 'add_book',
    arguments: { title: 'Ulysses', copies: 1 },
    ...over,
  })
  const met = async (action: GoldAction, call: ToolCall) => {
    const task = addTask({ evaluation_criteria: { actions: [action] } })
    return (await score([calls(call)], task)).action_checks?.[0]?.action_match
  }

  test('compare the arguments that the call brings, so one left out is no fault', async () => {
    expect(await met(gold(), add('Ulysses'))).toBe(true)
    expect(await met(gold(), add('Emma'))).toBe(false)
    const extra = { ...add('Ulysses'), arguments: { title: 'Ulysses', extra: 1 } }
    expect(await met(gold(), extra)).toBe(false)
  })

  test('compare only the named arguments, or none', async () => {
    expect(await met(gold({ compare_args: ['copies'] }), add('Ulysses'))).toBe(false)
    expect(await met(gold({ compare_args: ['title'] }), add('Ulysses'))).toBe(true)
    expect(await met(gold({ compare_args: [] }), add('Emma'))).toBe(true)
    expect(await met(gold({ compare_args: [], requestor: 'user' }), add('Emma'))).toBe(false)
  })
})

describe('facts', () => {
  test('are found whatever their case and thousands separators', async () => {
    const said = [spoken('assistant', 'It costs 1,430 EURO.'), spoken('user', 'secret')]
    const task = addTask({ evaluation_criteria: { communicate_info: ['1430', 'euro', 'secret'] } })
    const found = (await score(said, task)).communicate_checks?.map(({ met }) => met)
    expect(found).toEqual([true, true, false])
  })
})

describe('scorers of the run', () => {
  const brief = (limit: number): Scorer => ({
    name: 'BRIEF',
    score: ({ messages }) => ({
      reward: messages.length <= limit ? 1 : 0.5,
      checks: [{ what: `at most ${limit} messages`, met: messages.length <= limit }],
    }),
  })
  const scoreBy = (scorers: readonly Scorer[], task: EvalTask = addTask()) => {
    const ended = { messages: solved, termination: 'user_stop', signal } as const
    return scoreConversation({ domain: smallDomain([task]), task, scorers, ...ended })
  }

  test('count in every task, beside what its basis names', async () => {
    const info = await scoreBy([brief(1)])
    expect(info.reward).toBe(0.5)
    expect(info.reward_basis).toEqual(['DB', 'COMMUNICATE'])
    expect(info.reward_breakdown).toEqual({ DB: 1, COMMUNICATE: 1, BRIEF: 0.5 })
    expect(info.own_scores?.BRIEF?.checks).toEqual([{ what: 'at most 1 messages', met: false }])
  })

  test('count alone where a task has no criteria', async () => {
    const info = await scoreBy([brief(1)], addTask({ evaluation_criteria: null }))
    expect(info).toMatchObject({ reward: 0.5, reward_breakdown: { BRIEF: 0.5 }, reward_basis: [] })
  })

  test('that throw, or say what is no share, leave the reward open and say why', async () => {
    const broken: Scorer = {
      name: 'BROKEN',
      score: () => {
        throw new Error('out of ideas')
      },
    }
    const wild: Scorer = { name: 'WILD', score: () => ({ reward: 7, checks: [] }) }
    expect(await scoreBy([broken, wild])).toMatchObject({
      reward: null,
      reward_breakdown: { DB: 1, BROKEN: null, WILD: null },
      info: {
        unscored: ['BROKEN', 'WILD'],
        note: 'Unscored: out of ideas; a reward must be from 0 to 1, got 7',
      },
    })
  })

  test('that need a judge are not asked without one', async () => {
    const asks: Scorer = { ...brief(9), needs: () => ['judge'] }
    const info = await scoreBy([asks])
    expect(info).toMatchObject({ reward: null, info: { note: 'Unscored: no judge is configured' } })
  })

  test('are part of a run, its baseline, its report and its configuration', async () => {
    const peer = await servePeer(() => agentSays('Sorry'))
    const run = { agent: { endpoint: peer.url }, domain: smallDomain() }
    const plain = await runEvaluation(run)
    const results = await runEvaluation({ ...run, scorers: [brief(1)] })
    expect(results.simulations[0]?.reward_info.reward_breakdown).toMatchObject({ BRIEF: 0.5 })
    expect(results.info.config_hash).not.toBe(plain.info.config_hash)
    expect(toHtml(results)).toContain('✗ at most 1 messages')
    const recorded = parseResults(JSON.parse(JSON.stringify(results)))
    const again = await rescore(recorded, { domain: run.domain, scorers: [brief(1)] })
    expect(again.changed).toBe(0)
    const free = addTask({ evaluation_criteria: { reward_basis: ['DB'] } })
    expect(await doNothingBaseline(smallDomain([free]), [free], [brief(1)])).toEqual([
      { task_id: 'add-ulysses', reward: 0.5 },
    ])
  })

  test('have names of their own', async () => {
    const run = { agent: { endpoint: 'http://127.0.0.1:9' }, domain: smallDomain() }
    const named = (name: string): Scorer => ({ ...brief(1), name })
    for (const scorers of [[named('DB')], [named('A'), named('A')]])
      await expect(runEvaluation({ ...run, scorers })).rejects.toThrow('another scorer of the name')
    await expect(runEvaluation({ ...run, scorers: [named('')] })).rejects.toThrow('needs a name')
  })
})

describe('doing nothing', () => {
  test('is worth what the tasks give away', async () => {
    const free = addTask({ id: 'free', evaluation_criteria: { actions: [], reward_basis: ['DB'] } })
    const judged = addTask({
      id: 'judged',
      evaluation_criteria: { nl_assertions: ['x'], reward_basis: ['NL_ASSERTION'] },
    })
    const tasks = [addTask(), free, judged]
    expect(await doNothingBaseline(smallDomain(tasks), tasks)).toEqual([
      { task_id: 'add-ulysses', reward: 0 },
      { task_id: 'free', reward: 1 },
      { task_id: 'judged', reward: null },
    ])
  })
})
