import { describe, expect, test } from 'vitest'
import { createGoldenAgent } from '../../../src/eval/agent/reference-agents.ts'
import { checkDomain } from '../../../src/eval/domain/check.ts'
import { type ConversationMessage, type EvalTask, spoken } from '../../../src/eval/domain/domain.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { loadTau2Domain } from '../../../src/eval/tau2/domain.ts'
import { goldenUser } from '../../../src/eval/users.ts'
import { serveAgent } from '../serving.ts'
import { addTask, smallDomain } from '../small-domain.ts'

const call = { id: 'c1', name: 'add_book', arguments: { title: 'Dubliners' } }

/** A task that begins after the agent has put a book on the shelf. */
function begun(answer = '{"count": 2}'): EvalTask {
  const history: readonly ConversationMessage[] = [
    spoken('user', 'Please add Dubliners.'),
    spoken('assistant', null, [{ ...call, requestor: 'assistant' }]),
    { id: 'c1', role: 'tool', requestor: 'assistant', content: answer, error: false },
    spoken('assistant', 'It is there.'),
  ]
  return addTask({ initial_state: { message_history: history } })
}

describe('a task whose history has already written', () => {
  test('gives a perfect run the full score', async () => {
    const domain = smallDomain([begun()])
    const endpoint = await serveAgent(createGoldenAgent(domain))
    const { simulations, baseline } = await runEvaluation({ agent: { endpoint }, domain })
    expect(simulations[0]?.error).toBeUndefined()
    expect(simulations[0]?.reward_info).toMatchObject({ reward: 1, info: {} })
    expect(baseline).toEqual([{ task_id: 'add-ulysses', reward: 0 }])
    expect(await checkDomain(domain)).toMatchObject({ oracle: { passed: 1 }, findings: [] })
  })

  test('may end with the words of the user, who then waits for the agent', async () => {
    const task = begun()
    const past = task.initial_state?.message_history ?? []
    const message_history = [...past, spoken('user', 'And Ulysses, please.')]
    const domain = smallDomain([{ ...task, initial_state: { message_history } }])
    const endpoint = await serveAgent(createGoldenAgent(domain))
    const { simulations } = await runEvaluation({ agent: { endpoint }, domain, user: goldenUser })
    expect(simulations[0]?.reward_info.reward).toBe(1)
    expect(simulations[0]?.messages[5]).toMatchObject({ tool_calls: [{ name: 'add_book' }] })
  })

  test('is not run where its calls do not give what it says', async () => {
    const domain = smallDomain([begun('{"count": 7}')])
    const endpoint = await serveAgent(createGoldenAgent(domain))
    const { simulations } = await runEvaluation({ agent: { endpoint }, domain })
    expect(simulations[0]).toMatchObject({
      termination_reason: 'unexpected_error',
      error: expect.stringContaining("The history's call of add_book gave"),
    })
  })

  test("is set up once in tau2's worlds too, with what its file leaves out", async () => {
    const domain = await loadTau2Domain('tau2:mock', { environment: {} })
    const endpoint = await serveAgent(createGoldenAgent(domain))
    const { simulations } = await runEvaluation({
      agent: { endpoint },
      domain,
      user: goldenUser,
      taskIds: ['update_task_with_message_history'],
    })
    expect(simulations[0]?.reward_info).toMatchObject({ reward: 1, info: {} })
    expect(simulations[0]?.messages[1]).toMatchObject({
      content: null,
      tool_calls: [{ requestor: 'assistant' }],
    })
  })
})
