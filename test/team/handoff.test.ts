import { afterEach, describe, expect, test } from 'vitest'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { type Tool, withOwnNames } from '../../src/agents/tools.ts'
import { traceExtension } from '../../src/protocol/extensions.ts'
import { answerParts, textOf } from '../../src/protocol/task.ts'
import type { JsonObject, Task } from '../../src/protocol/types.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { defineTeam, type Team } from '../../src/team/team.ts'
import {
  type ModelAnswer,
  type ModelRequest,
  type ModelServer,
  openModelServer,
} from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'
import { createTurn, foldEvents, runTurn } from '../fixtures/turn.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Lines = Readonly<Record<string, (body: ModelRequest, count: number) => ModelAnswer>>

/** One model service; each model says its own lines, the count is of its own requests. */
async function startModels(lines: Lines): Promise<ModelServer> {
  const counts = new Map<string, number>()
  const server = await openModelServer((body) => {
    const count = (counts.get(body.model) ?? 0) + 1
    counts.set(body.model, count)
    return lines[body.model]?.(body, count) ?? { status: 404 }
  })
  closing.push(server.close)
  return server
}

function modelOf(server: ModelServer, id: string, description = '', tools: Tool[] = []) {
  const agent = new OpenAIAgent({
    id,
    name: id,
    description,
    endpoint: server.url,
    apiKey: 'key',
    model: id,
    timeoutSeconds: 10,
    maxRetries: 0,
    tools,
  })
  closing.push(() => agent.close())
  return agent
}

function route(agents: Parameters<typeof defineTeam>[0]['agents'], first: string): Team {
  const scheduler = { type: 'router', defaultAgentId: first } as const
  return defineTeam({ id: 'desk', name: 'Desk', agents, scheduler })
}

const transfer = (id: string, args: object = {}): ModelAnswer => ({
  tools: [{ name: `transfer_to_${id}`, arguments: args }],
})

function toolsOf(body: ModelRequest | undefined): readonly { name: string; description: string }[] {
  const tools = (body?.tools ?? []) as readonly {
    function: { name: string; description: string }
  }[] // the wire's own shape
  return tools.map((tool) => tool.function)
}

async function answer(team: Team, text: string): Promise<string> {
  const turn = createTurn(text)
  const task = foldEvents(turn, await runTurn(team, turn))
  return textOf((task.artifacts ?? []).flatMap((artifact) => artifact.parts))
}

describe('a router of models', () => {
  test('hands off from one to the next over HTTP until one answers', async () => {
    const models = await startModels({
      triage: () => transfer('billing'),
      billing: () => transfer('refunds', { message: 'refund order 7' }),
      refunds: () => ({ chunks: ['Order 7 ', 'is refunded.'] }),
    })
    const team = route(
      {
        triage: modelOf(models, 'triage'),
        billing: modelOf(models, 'billing', 'answers questions about bills'),
        refunds: modelOf(models, 'refunds', 'pays money back'),
      },
      'triage',
    )
    const server = await createServer({ agents: [team] })
    const listening = await listen(server, { port: 0, host: '127.0.0.1' })
    closing.push(listening.close)
    const task = await send(listening.url, 'My money back, please')
    const trace = task.metadata?.[traceExtension] as readonly JsonObject[] // as the extension writes it
    expect(trace.filter(({ type }) => type === 'decision')).toMatchObject([
      { team: 'desk', member: 'triage', recipients: ['billing'] },
      { team: 'desk', member: 'billing', recipients: ['refunds'] },
    ])
    expect(trace.filter(({ type }) => type === 'tool')).toMatchObject([
      { tool: 'transfer_to_billing', arguments: '{}', path: 'hop-1:triage' },
      { tool: 'transfer_to_refunds', arguments: '{"message":"refund order 7"}' },
    ])
    expect(textOf(answerParts(task))).toBe('Order 7 is refunded.')
    expect(models.requests.map(({ model }) => model)).toEqual(['triage', 'billing', 'refunds'])
    expect(models.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual([
      'My money back, please',
      'My money back, please',
      'refund order 7',
    ])
    expect(toolsOf(models.requests[0])).toMatchObject([
      {
        name: 'transfer_to_billing',
        description: 'Hands the conversation over to billing: answers questions about bills',
      },
      { name: 'transfer_to_refunds' },
    ])
  })

  test('a message of blanks is none', async () => {
    const models = await startModels({ triage: () => transfer('coder', { message: ' ' }) })
    const team = route({ triage: modelOf(models, 'triage'), coder: member('coder') }, 'triage')
    expect(await answer(team, 'a loop')).toBe('coder(a loop)')
  })

  test('words said on the way are not the answer', async () => {
    const models = await startModels({
      triage: () => ({
        text: 'One moment.',
        tools: [{ name: 'transfer_to_coder', arguments: {} }],
      }),
    })
    const team = route({ triage: modelOf(models, 'triage'), coder: member('coder') }, 'triage')
    expect(await answer(team, 'a loop')).toBe('coder(a loop)')
  })

  test('a member that takes over sees the conversation and speaks in the user’s', async () => {
    const models = await startModels({
      triage: () => transfer('coder'),
      coder: () => 'done',
    })
    const team = route(
      { triage: modelOf(models, 'triage'), coder: modelOf(models, 'coder') },
      'triage',
    )
    const earlier = { messageId: 'm0', role: 'ROLE_USER', parts: [{ text: 'I use Rust' }] } as const
    await runTurn(team, createTurn('a loop', { conversation: [earlier] }))
    expect(models.requests[1]?.messages.map(({ content }) => content)).toEqual([
      'I use Rust',
      'a loop',
    ])
  })

  test('nobody is offered to hand words back to a member that has had them', async () => {
    const models = await startModels({
      triage: () => transfer('coder'),
      coder: () => 'I do it myself',
    })
    const team = route(
      { triage: modelOf(models, 'triage'), coder: modelOf(models, 'coder') },
      'triage',
    )
    expect(await answer(team, 'a loop')).toBe('I do it myself')
    expect(toolsOf(models.requests[1])).toEqual([])
  })

  test('a call with arguments that are no JSON is told to the model, which tries again', async () => {
    const models = await startModels({
      triage: (_, count) =>
        count === 1
          ? { tools: [{ name: 'transfer_to_coder', arguments: '{"message": ' }] }
          : transfer('coder'),
    })
    const team = route({ triage: modelOf(models, 'triage'), coder: member('coder') }, 'triage')
    expect(await answer(team, 'a loop')).toBe('coder(a loop)')
    expect(models.requests[1]?.messages.at(-1)?.content).toContain('not a JSON object')
  })

  test('a turn that runs again after the handover hands over again without asking the model', async () => {
    const models = await startModels({ triage: () => transfer('coder') })
    const team = route({ triage: modelOf(models, 'triage'), coder: member('coder') }, 'triage')
    const first = createTurn('a loop')
    await runTurn(team, first)
    // The step of the first hop is lost, as in a crash before it was stored; what the model saved is not.
    const again = createTurn(first.message, { saved: first.saved, attempt: 2 })
    const task = foldEvents(again, await runTurn(team, again))
    expect(textOf(answerParts(task))).toBe('coder(a loop)')
    expect(models.requests).toHaveLength(1)
  })
})

describe('the tools of a team', () => {
  test('have names that services accept, each its own, beside the model’s own', async () => {
    const own = ['transfer_to_a_b'].map(
      (name): Tool => ({ name, description: '', parameters: {}, execute: () => 'own' }),
    )
    const long = 'x'.repeat(80)
    const models = await startModels({
      triage: (body) => {
        const { name = '' } = toolsOf(body).find((tool) => tool.description.includes('a:b')) ?? {}
        return { tools: [{ name, arguments: {} }] }
      },
    })
    const ids = ['a.b', 'a:b', `${long}1`, `${long}2`]
    const agents = Object.fromEntries(ids.map((id) => [id, member(id)]))
    const team = route({ triage: modelOf(models, 'triage', '', own), ...agents }, 'triage')
    expect(await answer(team, 'go')).toBe('a:b(go)')
    const names = toolsOf(models.requests[0]).map(({ name }) => name)
    expect(new Set(names).size).toBe(5)
    expect(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true)
  })

  test('say of a peer what it can do only where it says so', async () => {
    const models = await startModels({ boss: () => 'ok' })
    const plain = { ...member('coder'), info: () => info('Coder', 'writes code', []) }
    const able = { ...member('tester'), info: () => info('Tester', 'tests code', ['unit tests']) }
    const bare = { ...member('clerk'), info: () => info('Clerk', '', []) }
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { boss: modelOf(models, 'boss'), coder: plain, tester: able, clerk: bare },
      scheduler: { type: 'supervisor', supervisorAgentId: 'boss' },
    })
    await answer(team, 'go')
    expect(toolsOf(models.requests[0]).map(({ description }) => description)).toEqual([
      'Asks Coder: writes code',
      'Asks Tester: tests code. Can do: unit tests.',
      'Asks Clerk',
    ])
  })

  test('a tool that gets another name is still called on itself', async () => {
    class Counter implements Tool {
      readonly name = 'count'
      readonly description = ''
      readonly parameters = {}
      #count = 0
      execute() {
        return ++this.#count
      }
      ends() {
        return { count: this.#count }
      }
    }
    const [, second] = withOwnNames([new Counter(), new Counter()])
    expect(second?.name).toBe('count_2')
    const turn = createTurn('x')
    expect(second?.execute({}, { signal: turn.signal, turn })).toBe(1)
    expect(second?.ends?.({})).toEqual({ count: 1 })
  })
})

function info(name: string, description: string, capabilities: string[]) {
  return { id: name.toLowerCase(), name, description, capabilities, metadata: {} }
}

async function send(url: string, text: string): Promise<Task> {
  const message = { role: 'ROLE_USER', messageId: 'm1', parts: [{ text }] }
  const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
  const headers = {
    'content-type': 'application/json',
    'a2a-version': '1.0',
    'a2a-extensions': traceExtension,
  }
  const answered = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return (await answered.json()).result.task
}
