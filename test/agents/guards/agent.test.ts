import { describe, expect, onTestFinished, test } from 'vitest'
import type { AgentEvent, Turn } from '../../../src/agents/agent.ts'
import { type AgentFunction, defineAgent } from '../../../src/agents/function.ts'
import type {
  GuardContent,
  GuardContext,
  Guards,
  GuardVerdict,
} from '../../../src/agents/guards/guard.ts'
import { runTeam, type TeamRun } from '../../../src/app/run-team.ts'
import { A2AError } from '../../../src/protocol/errors.ts'
import { historyExtension, toUsageMetadata, usageOf } from '../../../src/protocol/extensions.ts'
import { answerParts, textOf, userMessage } from '../../../src/protocol/task.ts'
import type { JsonObject, Message, Part } from '../../../src/protocol/types.ts'
import { createServer, listen } from '../../../src/server/index.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { connect } from '../../team/scene.ts'

const key = 'sk-abcd1234efgh5678ijkl9012mnop3456'

/** An agent under guards, and what it was asked. */
function guarded(guards: Guards, answer: AgentFunction = (message) => textOf(message.parts)) {
  const asked: Message[] = []
  const agent = defineAgent({ name: 'agent', resumable: true, guards }, (message, turn) => {
    asked.push(message)
    return answer(message, turn)
  })
  return { agent, asked, texts: () => asked.map(({ parts }) => textOf(parts)) }
}

const run = (agent: Parameters<typeof runTeam>[0], text: string | Message): Promise<TeamRun> =>
  runTeam(agent, text, { logger: false })

const entriesOf = ({ trace }: TeamRun): readonly JsonObject[] =>
  trace.filter(({ type }) => type === 'guard')

async function* events(...list: readonly AgentEvent[]): AsyncGenerator<AgentEvent> {
  yield* list
}

describe('guards of the input', () => {
  test('an agent sees what they left of a message', async () => {
    const { agent, texts } = guarded({ input: ['secrets', 'email'] })
    const { text } = await run(agent, `Use ${key}, says joe@example.com`)
    expect(texts()).toEqual(['Use [secret removed], says [email removed]'])
    expect(text).toBe('Use [secret removed], says [email removed]')
  })

  test('turn.message is what they left, too', async () => {
    const { agent } = guarded({ input: ['secrets'] }, (_message, turn) =>
      textOf(turn.message.parts),
    )
    expect((await run(agent, key)).text).toBe('[secret removed]')
  })

  test('a blocked message is rejected with the reason and without the content', async () => {
    const { agent, asked } = guarded({ input: [{ use: 'secrets', action: 'block' }] })
    const result = await run(agent, `Use ${key}`)
    expect(result.state).toBe('TASK_STATE_REJECTED')
    expect(result.text).toBe(
      'The message was blocked by the guard secrets: there is a secret in it',
    )
    expect(asked).toEqual([])
    expect(JSON.stringify([result.trace, result.task.status])).not.toContain(key)
  })

  test('run in order, each on what the one before left', async () => {
    const seen: string[] = []
    const see = ({ text }: GuardContent) => {
      seen.push(text)
      return { verdict: 'replace', text: `${text}!` } as const
    }
    const { agent, texts } = guarded({ input: [see, 'secrets', see] })
    await run(agent, key)
    expect(seen).toEqual([key, '[secret removed]!'])
    expect(texts()).toEqual(['[secret removed]!!'])
  })

  test('look into data, its names, file names, addresses, metadata and files of text', async () => {
    const { agent, asked } = guarded({ input: ['secrets'] }, () => 'done')
    const parts: readonly Part[] = [
      { data: { note: [`a ${key}`], [key]: 1, password: 'hunter2hunter2' } },
      { raw: 'AAAA', mediaType: 'image/png', filename: `${key}.png` },
      { url: `https://example.com/?k=${key}` },
      { text: 'x', metadata: { note: key } },
      { raw: Buffer.from(`k=${key}`).toString('base64'), mediaType: 'text/plain' },
    ]
    const metadata = { [historyExtension]: { messages: [{ role: 'user', content: key }] } }
    await run(agent, { ...userMessage(parts), metadata })
    const [message] = asked
    expect(JSON.stringify(message)).not.toContain(key)
    expect(message?.parts[0]).toEqual({
      data: {
        note: ['a [secret removed]'],
        '[secret removed]': 1,
        password: '[secret removed]',
      },
    })
    expect(message?.parts[4]).toMatchObject({
      raw: Buffer.from('k=[secret removed]').toString('base64'),
    })
    expect(message?.metadata).toMatchObject({
      [historyExtension]: { messages: [{ content: '[secret removed]' }] },
    })
  })

  test('earlier turns that a client sends along are looked at by every guard', async () => {
    const metadata = {
      [historyExtension]: { messages: [{ role: 'assistant', content: 'hush' }] },
    }
    const message = { ...userMessage('go on'), metadata }
    const kinds: string[] = []
    const verdictOf =
      (verdict: GuardVerdict) =>
      ({ text }: GuardContent, { kind }: GuardContext): GuardVerdict => {
        kinds.push(kind)
        return text.includes('hush') ? verdict : { verdict: 'allow' }
      }
    const replacing = guarded({ input: [verdictOf({ verdict: 'replace', text: '' })] })
    expect((await run(replacing.agent, message)).state).toBe('TASK_STATE_COMPLETED')
    expect(JSON.stringify(replacing.asked)).not.toContain('hush')
    expect(kinds).toEqual(['message', 'history'])
    const blocking = guarded({ input: [verdictOf({ verdict: 'block', reason: 'no' })] })
    expect((await run(blocking.agent, message)).state).toBe('TASK_STATE_REJECTED')
    const denying = guarded({ input: [{ use: 'pattern', deny: '(?i)HUSH' }] })
    expect((await run(denying.agent, message)).state).toBe('TASK_STATE_REJECTED')
  })

  test('find what is cut in two by the border of parts', async () => {
    const { agent, texts } = guarded({ input: ['secrets'] })
    await run(agent, userMessage([{ text: key.slice(0, 9) }, { text: key.slice(9) }]))
    expect(texts()).toEqual(['[secret removed]'])
  })

  test('what was taken out of an earlier message is not in the history of later ones', async () => {
    const heard: string[] = []
    const hush = ({ text }: GuardContent): GuardVerdict =>
      text.includes('hush') ? { verdict: 'replace', text: 'psst' } : { verdict: 'allow' }
    const asking: AgentFunction = async function* (_message, turn) {
      const earlier = [...turn.history, ...(turn.task?.history ?? [])]
      heard.push(JSON.stringify([earlier, await turn.conversation(10)]))
      yield turn.number < 3 ? turn.ask('More?') : 'done'
    }
    const { agent } = guarded({ input: ['secrets', hush] }, asking)
    const answers = ['hush now', 'go on']
    const result = await runTeam(agent, `first ${key}`, { logger: false, answers })
    expect(result.state).toBe('TASK_STATE_COMPLETED')
    expect(heard).toHaveLength(3)
    expect(heard.join()).not.toContain(key)
    expect(heard.join()).not.toContain('hush')
    expect(heard[2]).toContain('first [secret removed]')
    expect(heard[2]).toContain('psst')
  })

  test('an answer of the user to a question is a message like others', async () => {
    const asking: AgentFunction = async function* (_message, turn) {
      yield turn.number === 1 ? turn.ask('Which?') : 'done'
    }
    const { agent, texts } = guarded({ input: ['secrets'] }, asking)
    await runTeam(agent, 'x', { logger: false, answers: [key] })
    expect(texts()).toEqual(['x', '[secret removed]'])
  })
})

describe('guards of the output', () => {
  test('nothing of an answer is streamed before it is checked', async () => {
    const { agent } = guarded({ output: ['secrets'] }, () => events('Use sk-', key.slice(3), '!'))
    const { text, events: heard } = await run(agent, 'x')
    expect(text).toBe('Use [secret removed]!')
    expect(JSON.stringify(heard)).not.toContain('sk-')
  })

  test('a blocked answer fails with the reason, without the content, and with what it cost', async () => {
    const cost = toUsageMetadata({ inputTokens: 11, outputTokens: 7 })
    const { agent } = guarded({ output: [{ use: 'length', max: 3 }] }, (_message, turn) =>
      events(turn.artifact({ artifactId: 'r', parts: [{ text: 'too long' }], metadata: cost })),
    )
    const result = await run(agent, 'x')
    expect(result.state).toBe('TASK_STATE_FAILED')
    expect(result.text).toBe(
      'The answer was blocked by the guard length: it has 8 characters; at most 3 are allowed',
    )
    expect(JSON.stringify([result.task, result.events, result.trace])).not.toContain('too long')
    const { message } = result.task.status
    expect(usageOf(message?.metadata)).toEqual({ inputTokens: 11, outputTokens: 7 })
  })

  const ways: Readonly<Record<string, (turn: Turn) => ReturnType<AgentFunction>>> = {
    'a text': () => key,
    'a promise of a text': async () => key,
    'a message': (turn) => turn.reply(key),
    'a message with metadata': (turn) => ({ ...turn.reply('x'), metadata: { note: key } }),
    data: (turn) => turn.reply([{ data: { deep: [{ note: key }] } }]),
    'a task': (turn) => ({
      task: {
        id: turn.taskId,
        contextId: turn.contextId,
        status: { state: 'TASK_STATE_COMPLETED', message: turn.reply(key) },
        artifacts: [{ artifactId: 'a', name: key, parts: [{ text: key }] }],
        history: [turn.reply(key)],
      },
    }),
    chunks: () => events(key.slice(0, 10), key.slice(10)),
    parts: () => events({ text: key }, { data: key }),
    'an artifact': (turn) =>
      events(
        turn.artifact({
          artifactId: 'a',
          name: `n ${key}`,
          description: `d ${key}`,
          parts: [{ raw: 'AAAA', filename: `${key}.bin` }],
          metadata: { note: key },
        }),
      ),
    'a status text': (turn) => events(turn.status('TASK_STATE_WORKING', key), 'x'),
    'a question': (turn) => events(turn.ask(`Is it ${key}?`)),
    'a question for credentials': (turn) => events(turn.status('TASK_STATE_AUTH_REQUIRED', key)),
    'a failure': (turn) => events(turn.status('TASK_STATE_FAILED', key)),
    'a refusal': (turn) => events(turn.status('TASK_STATE_REJECTED', key)),
    'an error': () => {
      throw new A2AError('processingError', `not with ${key}`)
    },
    'an error in a stream': async function* () {
      yield 'x'
      throw new A2AError('agentUnavailable', `not with ${key}`)
    },
  }

  test.each(Object.entries(ways))('look at %s', async (_way, answer) => {
    const { agent } = guarded({ output: ['secrets'] }, (_message, turn) => answer(turn))
    const result = await run(agent, 'x')
    const all = JSON.stringify([result.task, result.events])
    expect(all).not.toContain(key.slice(10))
    expect(all).toContain('[secret removed]')
  })

  test('an answer that they allow is as it was', async () => {
    const answer = (_message: Message, turn: Turn) =>
      events(
        turn.status('TASK_STATE_WORKING', 'Thinking'),
        turn.artifact({ artifactId: 'a', name: 'one', parts: [{ text: '1' }, { data: 2 }] }),
        turn.artifact({ artifactId: 'b', parts: [{ text: '3' }], metadata: { m: 4 } }),
        { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' }, metadata: { n: 5 } } },
      )
    const [plain, under] = [
      await run(defineAgent({ name: 'agent' }, answer), 'x'),
      await run(guarded({ output: ['secrets'] }, answer).agent, 'x'),
    ]
    expect(under.task.artifacts).toEqual(plain.task.artifacts)
    expect(under.state).toBe(plain.state)
    const words = ({ events: all }: TeamRun) => JSON.stringify(all).includes('Thinking')
    expect([words(plain), words(under)]).toEqual([true, true])
  })

  test('one that replaces the whole answer replaces all of its artifacts', async () => {
    const guard = () => ({ verdict: 'replace', text: 'clean' }) as const
    const { agent } = guarded({ output: [guard] }, (_message, turn) =>
      events(
        turn.artifact({ artifactId: 'a', parts: [{ text: '1' }, { text: '2' }] }),
        turn.artifact({ artifactId: 'b', parts: [{ text: '3' }] }),
      ),
    )
    const { task } = await run(agent, 'x')
    expect(task.artifacts?.map(({ parts }) => parts)).toEqual([[{ text: 'clean' }]])
  })

  test('a form is asked of answers, not of status texts and questions', async () => {
    const { agent } = guarded({ output: [{ use: 'length', min: 20 }] }, async function* (_m, turn) {
      yield turn.status('TASK_STATE_WORKING', 'short')
      yield turn.ask('why?')
    })
    const { state, text } = await run(agent, 'x')
    expect([state, text]).toEqual(['TASK_STATE_INPUT_REQUIRED', 'why?'])
  })

  test('a task that its agent means to finish later cannot be guarded, and says so', async () => {
    const { agent } = guarded({ output: ['secrets'] }, ({ contextId = '' }, { taskId }) => ({
      task: { id: taskId, contextId, status: { state: 'TASK_STATE_WORKING' } },
    }))
    const { state, text } = await run(agent, 'x')
    expect([state, text]).toEqual([
      'TASK_STATE_FAILED',
      'An agent under guards cannot finish its task later',
    ])
  })
})

describe('a guard of one’s own', () => {
  test.each([
    [
      'throws',
      () => {
        throw new Error('secret words')
      },
    ],
    [
      'rejects',
      async () => {
        throw new A2AError('rateLimited', 'secret words')
      },
    ],
    ['gives nothing', () => undefined],
    ['gives a word', () => 'allow'],
    ['gives another verdict', () => ({ verdict: 'maybe' })],
    ['replaces by nothing', () => ({ verdict: 'replace' })],
    ['replaces by what are no parts', () => ({ verdict: 'replace', parts: [{ nonsense: 1 }] })],
  ])('that %s lets nothing pass', async (_what, guard) => {
    for (const side of ['input', 'output'] as const) {
      const { agent, asked } = guarded({ [side]: [guard] } as Guards, () => 'the answer')
      const result = await run(agent, 'x')
      expect(result.state).toBe(side === 'input' ? 'TASK_STATE_REJECTED' : 'TASK_STATE_FAILED')
      expect(result.text).toContain('it could not be checked')
      expect(JSON.stringify(result.task)).not.toMatch(/the answer|secret words/)
      expect(asked).toHaveLength(side === 'input' ? 0 : 1)
    }
  })

  test('knows text, data, parts, the side, the kind and the turn', async () => {
    const seen: [GuardContent, Omit<GuardContext, 'turn'>, string][] = []
    const guard = (content: GuardContent, { turn, ...context }: GuardContext) => {
      seen.push([content, context, turn.taskId])
      return { verdict: 'allow' } as const
    }
    const { agent } = guarded({ input: [guard], output: [guard] }, (_message, turn) =>
      events(turn.status('TASK_STATE_WORKING', 'hm'), { data: { a: 1 } }),
    )
    const { task } = await run(agent, 'x')
    expect(seen.map(([, context]) => context)).toEqual([
      { at: 'input', kind: 'message' },
      { at: 'output', kind: 'status' },
      { at: 'output', kind: 'answer' },
    ])
    expect(seen[2]?.[0]).toEqual({ text: '{"a":1}', data: { a: 1 }, parts: [{ data: { a: 1 } }] })
    expect(seen[0]?.[2]).toBe(task.id)
  })
})

describe('the guard pattern', () => {
  const over = async (guards: Guards, answer: string) => {
    const { state, text, task } = await run(guarded(guards, () => answer).agent, 'x')
    return { state, text, all: JSON.stringify(task) }
  }

  test('blocks or takes out what is denied, and asks for what is required', async () => {
    const deny = { use: 'pattern', deny: '(?i)guarantee' } as const
    const denied = await over({ output: [deny] }, 'We GUARANTEE it')
    expect(denied.state).toBe('TASK_STATE_FAILED')
    expect(denied.text).toContain('the guard pattern: there is something in it that is not allowed')
    expect(denied.all).not.toMatch(/guarantee/i)
    const out = await over({ output: [{ ...deny, action: 'replace' }] }, 'We GUARANTEE it')
    expect(out.text).toBe('We [removed] it')
    const required = { output: [{ use: 'pattern', require: 'Best regards' }] } as const
    expect((await over(required, 'Hi. Best regards')).state).toBe('TASK_STATE_COMPLETED')
    expect((await over(required, 'Hi.')).text).toContain('something is missing in it')
  })

  test('does not look at metadata, in which words mean something else', async () => {
    const metadata = toUsageMetadata({ inputTokens: 1, outputTokens: 1, model: 'gpt-4' })
    const { agent } = guarded(
      { output: [{ use: 'pattern', deny: 'gpt|usage|Tokens|text|role|agent' }] },
      (_message, turn) => ({ ...turn.reply('fine'), metadata }),
    )
    expect((await run(agent, 'x')).text).toBe('fine')
  })

  test('costs time in proportion to the text, whatever it is', async () => {
    const { agent } = guarded({ input: [{ use: 'pattern', deny: '^(a+)+$' }] })
    expect((await run(agent, `${'a'.repeat(20_000)}!`)).state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('the trace', () => {
  test('has every verdict, what was allowed in short', async () => {
    const { agent } = guarded(
      { input: ['secrets', 'email'], output: ['email', { use: 'length', max: 2 }] },
      () => 'joe@example.com',
    )
    expect(entriesOf(await run(agent, 'x'))).toMatchObject([
      { agent: 'agent', at: 'input', guard: 'secrets, email', verdict: 'allow' },
      { agent: 'agent', at: 'output', guard: 'email', verdict: 'replace' },
      { agent: 'agent', at: 'output', guard: 'length', verdict: 'block' },
    ])
  })
})

describe('over HTTP', () => {
  test('a streaming client hears nothing of what is replaced, and a blocked message is REJECTED', async () => {
    const { agent } = guarded({ input: [{ use: 'length', max: 10 }], output: ['secrets'] }, () =>
      events('my key is ', key.slice(0, 8), key.slice(8)),
    )
    const server = await createServer({ agents: [agent], logger: false })
    const listening = await listen(server, { port: 0, host: '127.0.0.1' })
    onTestFinished(() => listening.close())
    const client = connect(listening.url)
    let heard = ''
    for await (const event of client.sendMessageStream('hello')) heard += JSON.stringify(event)
    expect(heard).toContain('my key is [secret removed]')
    expect(heard).not.toContain('sk-')
    const answer = await client.sendMessage('much longer than ten')
    expect(answer).toMatchObject({ task: { status: { state: 'TASK_STATE_REJECTED' } } })
    expect(textOf('task' in answer ? answerParts(answer.task) : [])).toContain('at most 10')
  })
})

describe('a long message under guards', () => {
  const data = Object.fromEntries(
    Array.from({ length: 60_000 }, (_, i) => [`password${i}`, `api_key: ${i}`]),
  )

  test.each<[string, Guards['input'], Part]>([
    ['one text, for secrets', ['secrets'], { text: 'apikey=a '.repeat(600_000) }],
    ['one text, for addresses', ['email'], { text: 'ab@cd.ef1 '.repeat(300_000) }],
    [
      'one text, for a pattern',
      [{ use: 'pattern', deny: '(?:a+b?)+c' }],
      { text: 'aab'.repeat(300_000) },
    ],
    [
      'one text, for a pattern that must be in it',
      [{ use: 'pattern', require: '(?:a+b?)+c' }],
      { text: `${'aab'.repeat(300_000)}c` },
    ],
    ['many members of data', ['secrets'], { data }],
  ])('is looked at in slices, so that others have their turn: %s', async (_, guards = [], part) => {
    let ticks = 0
    const marks: number[] = []
    const mark = (): GuardVerdict => {
      marks.push(ticks)
      return { verdict: 'allow' }
    }
    let isOver = false
    const count = (): void => {
      ticks++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const { agent } = guarded({ input: [mark, ...guards, mark] }, () => 'done')
    const result = await run(agent, userMessage([part]))
    isOver = true
    expect(result.text).toBe('done')
    const [before = 0, after = 0] = marks
    // In one piece there would be one at most. How many slices there are depends on the machine.
    expect(after - before).toBeGreaterThan(2)
  })

  test.each<[string, NonNullable<Guards['input']>[number], Part]>([
    ['secrets', 'secrets', { text: 'apikey=a '.repeat(100_000) }],
    [
      'a pattern that must be in it',
      { use: 'pattern', require: '(?:a+b?)+c' },
      { text: `${'aab'.repeat(100_000)}c` },
    ],
    [
      'a schema',
      { use: 'json-schema', schema: { type: 'array', items: { anyOf: [{ const: 1 }, {}] } } },
      { data: Array.from({ length: 120_000 }, () => 'a') },
    ],
  ])('makes others wait for one message, not for all of one user: %s', async (_, guard, part) => {
    const order: string[] = []
    const all = createDeferred<void>()
    let begun = 0
    const mark = (): GuardVerdict => {
      if (++begun === 4) all.resolve()
      return { verdict: 'allow' }
    }
    const { agent } = guarded({ input: [mark, guard] }, (_message, turn) => {
      order.push(String(turn.caller.userId))
      return 'done'
    })
    const server = await createServer({
      agents: [agent],
      logger: false,
      auth: {
        authenticators: [
          {
            name: 'header',
            challenge: 'Header',
            authenticate: ({ headers }) => ({ userId: headers?.user ?? '' }),
          },
        ],
      },
    })
    onTestFinished(() => server.close())
    const inside = server.dispatch()
    const send = (user: string) =>
      inside('SendMessage', { message: userMessage([part]) }, { headers: { user } })
    const sent = ['ann', 'ann', 'ann', 'ann'].map(send)
    await all.promise
    await Promise.all([...sent, send('bob')])
    expect(order[0]).toBe('bob')
  })
})
