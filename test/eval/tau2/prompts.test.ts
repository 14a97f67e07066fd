import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type EvalTask, spoken } from '../../../src/eval/domain/domain.ts'
import { loadTau2Domain } from '../../../src/eval/tau2/domain.ts'
import { tau2Prompts } from '../../../src/eval/tau2/prompts.ts'
import { createLlmUser } from '../../../src/eval/users.ts'
import { serveModel } from '../chat-server.ts'
import { askPython, hasPython } from './python3.ts'
import { dataDirectory } from './vectors.ts'

const texts = ['one line', 'two\nlines', 'a\n\n  \n b\n', 'ends\n', '', '\n']
const told: readonly EvalTask[] = texts.map((text, index) => ({
  id: `${index}`,
  user_scenario: {
    persona: index % 2 === 0 ? text : null,
    instructions: {
      domain: 'mock',
      reason_for_call: text,
      known_info: index % 2 === 0 ? null : text,
      unknown_info: text,
      task_instructions: `${text}!`,
    },
  },
}))

/** `__str__` of tau2's UserScenario and StructuredUserInstructions. */
const python = `import textwrap
def structured(i):
    lines = [f"Domain: {i['domain']}"]
    for name, title in [('reason_for_call', 'Reason for call'), ('known_info', 'Known info'), ('unknown_info', 'Unknown info'), ('task_instructions', 'Task instructions')]:
        if i[name] is not None:
            lines.append(f"{title}:\\n{textwrap.indent(i[name], chr(9))}")
    return '\\n'.join(lines)
def answer(s):
    lines = []
    if s['persona'] is not None:
        lines += ['Persona:', textwrap.indent(s['persona'], chr(9))]
    return '\\n'.join(lines + ['Instructions:', textwrap.indent(structured(s['instructions']), chr(9))])`

function scenario(task: EvalTask): string | undefined {
  return tau2Prompts.user(task, false).match(/<scenario>\n(.*)\n<\/scenario>$/s)?.[1]
}

describe("tau2's words for models", () => {
  test.skipIf(!hasPython)("tell a scenario as tau2's Python does", () => {
    expect(told.map(scenario)).toEqual(
      askPython(
        python,
        told.map((task) => task.user_scenario),
      ),
    )
  })

  test.skipIf(!dataDirectory)('are those of its data', () => {
    const read = (name: string): string =>
      readFileSync(join(dataDirectory ?? '', 'tau2/user_simulator', `${name}.md`), 'utf8')
    const task = { id: '1', user_scenario: { instructions: 'Call.' } }
    const end = '\n\n<scenario>\nInstructions:\n\tCall.\n</scenario>'
    expect(tau2Prompts.user(task, false)).toBe(read('simulation_guidelines') + end)
    expect(tau2Prompts.user(task, true)).toBe(read('simulation_guidelines_tools') + end)
  })

  test('show a judge the whole conversation, and the statements as Python writes a list', () => {
    const messages = [spoken('assistant', 'Hi!'), spoken('user', null)]
    const { system, user } = tau2Prompts.judge(["It's kind", 'It "acts"'], messages)
    expect(system).toMatch(/^\n {8}TASK\n/)
    expect(user).toBe(
      `\n        conversation:\n        assistant: Hi!\nuser: None\n        \n        expectedOutcomes:\n        ["It's kind", 'It "acts"']\n        `,
    )
  })

  test('reach the model that plays the user, with the history that it saw', async () => {
    const model = await serveModel(['Done ###STOP###'])
    const domain = await loadTau2Domain('tau2:mock', { environment: {} })
    const task = domain.tasks.find(({ id }) => id === 'update_task_with_user_tools')
    if (!task) throw new Error('There is the task')
    const { userTools: tools } = await domain.open(task)
    const last = spoken('assistant', 'It is made.')
    const call = { id: 'c', name: 'create_task', arguments: {}, requestor: 'assistant' } as const
    const result = {
      id: 'c',
      role: 'tool',
      content: '{}',
      requestor: 'assistant',
      error: false,
    } as const
    const history = [
      spoken('user', 'Make a task.'),
      spoken('assistant', null, [call]),
      result,
      last,
    ]
    const player = createLlmUser({ baseUrl: model.url, model: 'm' }).start({
      ...{ task, trial: 0, seed: 1, tools, history, prompts: domain.prompts },
    })
    await player.next(last, new AbortController().signal)
    const [request] = model.requests
    expect(request?.messages[0]?.content).toContain('You have some tools to perform the actions')
    expect(request?.messages.slice(1)).toEqual([
      { role: 'assistant', content: 'Make a task.' },
      { role: 'user', content: 'It is made.' },
    ])
  })
})
