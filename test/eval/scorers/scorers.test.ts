import { describe, expect, test } from 'vitest'
import {
  type ConversationMessage,
  spoken,
  type ToolCall,
} from '../../../src/eval/domain/conversation.ts'
import type { EvalTask, GoldAction } from '../../../src/eval/domain/task.ts'
import type { TerminationReason } from '../../../src/eval/results/simulation.ts'
import { doNothingBaseline } from '../../../src/eval/run/to-results.ts'
import { checkActions } from '../../../src/eval/scorers/actions.ts'
import { checkCommunicated } from '../../../src/eval/scorers/communicate.ts'
import { scoreConversation } from '../../../src/eval/scorers/reward.ts'
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
  const met = (action: GoldAction, call: ToolCall) =>
    checkActions([action], [calls(call)])[0]?.action_match

  test('compare the arguments that the call brings, so one left out is no fault', () => {
    expect(met(gold(), add('Ulysses'))).toBe(true)
    expect(met(gold(), add('Emma'))).toBe(false)
    expect(met(gold(), { ...add('Ulysses'), arguments: { title: 'Ulysses', extra: 1 } })).toBe(
      false,
    )
  })

  test('compare only the named arguments, or none', () => {
    expect(met(gold({ compare_args: ['copies'] }), add('Ulysses'))).toBe(false)
    expect(met(gold({ compare_args: ['title'] }), add('Ulysses'))).toBe(true)
    expect(met(gold({ compare_args: [] }), add('Emma'))).toBe(true)
    expect(met(gold({ compare_args: [], requestor: 'user' }), add('Emma'))).toBe(false)
  })
})

describe('facts', () => {
  test('are found whatever their case and thousands separators', () => {
    const said = [spoken('assistant', 'It costs 1,430 EURO.'), spoken('user', 'secret')]
    const found = checkCommunicated(['1430', 'euro', 'secret'], said).map(({ met }) => met)
    expect(found).toEqual([true, true, false])
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
