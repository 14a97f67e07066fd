import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { decodeMessage } from '../../src/bindings/dialects/lenient.ts'
import { decodeResult } from '../../src/bindings/dialects/lenient-results.ts'
import { toMessage03, toTask03 } from '../../src/bindings/dialects/v03.ts'
import {
  AgentCapabilities,
  AgentCard,
  AgentProvider,
  AgentSkill,
  Artifact,
  Capabilities,
  createA2AServer,
  DataPart,
  InMemoryTaskStore,
  Message,
  Provider,
  Role,
  Skill,
  Task,
  TaskState,
  TaskStatus,
  TextPart,
} from '../../src/compat/index.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { toTaskStore } from '../../src/store/task-store.ts'

const inputSchema = {
  type: 'object',
  properties: { topic: { type: 'string' } },
  required: ['topic'],
}

const agentCard = AgentCard({
  name: 'Research Agent',
  description: 'Researches topics and provides summaries',
  url: 'http://localhost:8000',
  version: '1.0.0',
  capabilities: AgentCapabilities({
    streaming: true,
    pushNotifications: false,
    stateManagement: true,
  }),
  skills: [
    AgentSkill({
      id: 'research_topic',
      name: 'Research Topic',
      description: 'Research a topic and return findings',
      inputSchema,
    }),
  ],
  provider: AgentProvider({ name: 'Workshop Demo' }),
})

const task = Task({
  id: 'task-abc123',
  contextId: 'ctx-xyz789',
  status: TaskStatus({
    state: TaskState.completed,
    message: Message({
      role: Role.agent,
      parts: [TextPart({ text: 'Research complete' })],
    }),
  }),
  artifacts: [
    Artifact({
      artifactId: 'art-001',
      name: 'research_result',
      parts: [TextPart({ text: 'Findings...' })],
    }),
  ],
})

const message = Message({
  role: Role.user,
  parts: [
    TextPart({ text: 'Research quantum computing' }),
    DataPart({ data: { depth: 'detailed' }, mimeType: 'application/json' }),
  ],
  messageId: 'msg-123',
})

describe('AT-18: the card of the Research Agent', () => {
  const app = createA2AServer({ ...agentCard, agent: { run: (text) => text } }).createApp()
  afterAll(() => app.close())
  const card = async (headers: Record<string, string> = {}) => {
    const url = 'http://localhost:8000/.well-known/agent-card.json'
    return (await app.fetch(new Request(url, { headers }))).json()
  }

  test('is served with all that 003 wrote into it', async () => {
    expect(await card()).toMatchObject({
      name: 'Research Agent',
      description: 'Researches topics and provides summaries',
      url: 'http://localhost:8000/',
      version: '1.0.0',
      capabilities: { streaming: true, pushNotifications: false, stateManagement: true },
      skills: [
        {
          id: 'research_topic',
          name: 'Research Topic',
          description: 'Research a topic and return findings',
          inputSchema,
        },
      ],
      provider: { name: 'Workshop Demo', organization: 'Workshop Demo' },
    })
  })

  test('is strict in 1.0: the schema stands in a declared extension', async () => {
    const strict = JSON.stringify(await card({ 'a2a-version': '1.0' }))
    expect(strict).not.toContain('stateManagement')
    const { capabilities, skills } = JSON.parse(strict)
    expect(skills[0].inputSchema).toBeUndefined()
    const schemas = capabilities.extensions.find(({ uri }: { uri: string }) =>
      uri.includes('skill-schemas'),
    )
    expect(schemas.params).toEqual({ research_topic: { inputSchema } })
  })
})

describe('AT-18: tasks and messages go through 0.3 and come back', () => {
  test('the task', () => {
    const wire = JSON.parse(JSON.stringify(toTask03(task)))
    expect(wire).toMatchObject({
      kind: 'task',
      id: 'task-abc123',
      contextId: 'ctx-xyz789',
      status: { state: 'completed', message: { role: 'agent', parts: [{ kind: 'text' }] } },
      artifacts: [{ artifactId: 'art-001', name: 'research_result' }],
    })
    expect(decodeResult('GetTask', wire)).toEqual(task)
  })

  test('the message; that data is JSON goes without saying in 0.3', () => {
    const wire = JSON.parse(JSON.stringify(toMessage03(message)))
    expect(wire).toEqual({
      kind: 'message',
      messageId: 'msg-123',
      role: 'user',
      parts: [
        { kind: 'text', text: 'Research quantum computing' },
        { kind: 'data', data: { depth: 'detailed' } },
      ],
    })
    const [words, data] = message.parts
    const { mediaType: _, ...plain } = data ?? {}
    expect(decodeMessage(wire)).toEqual({ ...message, parts: [words, plain] })
  })

  test("003's own spelling of the message is understood", () => {
    const written = {
      role: 'user',
      parts: [
        { text: 'Research quantum computing' },
        { data: { depth: 'detailed' }, mimeType: 'application/json' },
      ],
      messageId: 'msg-123',
    }
    expect(decodeMessage(written)).toEqual(message)
  })
})

test('AT-18: old and new names are the same things', () => {
  expect(Skill).toBe(AgentSkill)
  expect(Capabilities).toBe(AgentCapabilities)
  expect(Provider).toBe(AgentProvider)
  const names = [
    'submitted',
    'working',
    'completed',
    'failed',
    'cancelled',
    'input-required',
  ] as const
  expect(names.map((name) => TaskState[name])).toEqual([
    'TASK_STATE_SUBMITTED',
    'TASK_STATE_WORKING',
    'TASK_STATE_COMPLETED',
    'TASK_STATE_FAILED',
    'TASK_STATE_CANCELED',
    'TASK_STATE_INPUT_REQUIRED',
  ])
})

test('AT-18: the five methods of the task store, in memory and in a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'corral-'))
  const file = await openSqliteStore(join(folder, 'tasks.db'))
  onTestFinished(async () => {
    await file.close()
    await rm(folder, { recursive: true })
  })
  for (const tasks of [new InMemoryTaskStore(), toTaskStore(file)]) {
    expect(await tasks.create(task)).toEqual(task)
    expect(await tasks.get('task-abc123')).toEqual(task)
    expect(await tasks.update({ ...task, metadata: { seen: true } })).toMatchObject({ id: task.id })
    expect(await tasks.list({ contextId: 'ctx-xyz789' })).toEqual([
      { ...task, metadata: { seen: true } },
    ])
    expect(await tasks.delete('task-abc123')).toBe(true)
    expect(await tasks.get('task-abc123')).toBeUndefined()
  }
})
