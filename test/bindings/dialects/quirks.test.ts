import { describe, expect, test } from 'vitest'
import {
  frameJson,
  receiveCard,
  receiveEvent,
  receiveResult,
} from '../../../src/bindings/client-wire.ts'
import type { quirks } from '../../../src/bindings/dialects/lenient-results.ts'
import { ranch } from '../../../src/bindings/dialects/ranch.ts'
import { v03 } from '../../../src/bindings/dialects/v03.ts'
import { rest03 } from '../../../src/bindings/dialects/v03-rest.ts'
import { v10 } from '../../../src/bindings/dialects/v10.ts'

const getTask = { name: 'GetTask', request: { id: 't' } } as const
const listTasks = { name: 'ListTasks', request: {} } as const
const getConfig = {
  name: 'GetTaskPushNotificationConfig',
  request: { taskId: 't', id: 'w' },
} as const
const listConfigs = { name: 'ListTaskPushNotificationConfigs', request: { taskId: 't' } } as const
const send = {
  name: 'SendMessage',
  request: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } },
} as const

/** What is written, as it is read. One row for each quirk: a quirk without one does not compile. */
const samples: Readonly<Record<keyof typeof quirks, () => readonly [read: unknown, as: unknown]>> =
  {
    flatStatus: () => [
      receiveResult(ranch, { task_id: 't', status: 'queued' }, send),
      { task: { id: 't', contextId: '', status: { state: 'TASK_STATE_SUBMITTED' } } },
    ],
    reasonForMessage: () => [
      receiveResult(ranch, { id: 't', status: { state: 'failed', reason: 'No' } }, getTask),
      {
        id: 't',
        contextId: '',
        status: {
          state: 'TASK_STATE_FAILED',
          message: { messageId: 'reason', role: 'ROLE_AGENT', parts: [{ text: 'No' }] },
        },
      },
    ],
    resultForArtifact: () => [
      receiveResult(
        ranch,
        {
          id: 't',
          status: { state: 'completed' },
          result: { role: 'agent', parts: [{ type: 'text', text: 'Yes' }] },
        },
        getTask,
      ),
      {
        id: 't',
        contextId: '',
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ artifactId: 'response', parts: [{ text: 'Yes' }] }],
      },
    ],
    unzonedTime: () => [
      ['2026-01-02T03:04:05.678901', '2026-01-02T05:04:05.678+0200'].map(
        (timestamp) =>
          receiveResult(v10, { id: 't', status: { state: 'working', timestamp } }, getTask).status
            .timestamp,
      ),
      ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678Z'],
    ],
    unsetRole: () => [
      receiveEvent(v10, {
        message: { messageId: 'm', role: 'ROLE_UNSPECIFIED', parts: [{ text: 'Hi' }] },
      }),
      { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Hi' }] } },
    ],
    bareList: () => [
      [[{ taskId: 't', pushNotificationConfig: { id: 'w', url: 'https://a.example' } }], null].map(
        (answer) => receiveResult(v03, answer, listConfigs),
      ),
      [{ configs: [{ taskId: 't', id: 'w', url: 'https://a.example' }] }, { configs: [] }],
    ],
    uncounted: () => [
      [rest03, v10].map((wire) => {
        const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
        const { pageSize, totalSize } = receiveResult(wire, { tasks: [task] }, listTasks)
        return [pageSize, totalSize]
      }),
      [
        [1, 1],
        [1, 1],
      ],
    ],
    emptyAuthentication: () => [
      receiveResult(
        rest03,
        {
          name: 'tasks/t/pushNotificationConfigs/w',
          pushNotificationConfig: { url: 'https://a.example', authentication: {} },
        },
        getConfig,
      ),
      { taskId: 't', id: 'w', url: 'https://a.example' },
    ],
    nullOffers: () => [
      receiveCard({
        name: 'A',
        supportedInterfaces: [null, { url: 'https://a.example', protocolBinding: 'JSONRPC' }],
      }).supportedInterfaces,
      [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    ],
    namedProvider: () => [
      receiveCard({ name: 'A', url: 'https://a.example', provider: { name: 'P' } }).provider,
      { organization: 'P', url: '' },
    ],
    recordSeparator: () => [
      // @voltagent/server-hono 2.0.14: each event a bare task after a record separator (RFC 7464)
      ['working', 'completed'].map((state) =>
        frameJson(
          { data: `\u001e${JSON.stringify({ result: { id: 't', status: { state } } })}` },
          v03,
        ),
      ),
      ['working', 'completed'].map((state) => ({ result: { id: 't', status: { state } } })),
    ],
    namedRequirement: () => [
      receiveCard({ name: 'A', url: 'https://a.example', security: ['key'] }).securityRequirements,
      [{ schemes: { key: { list: [] } } }],
    ],
  }

test.each(Object.entries(samples))('%s is understood', (_, sample) => {
  const [read, as] = sample()
  expect(read).toEqual(as)
})

describe('what ProtoJSON leaves out is read as empty', () => {
  test('the ids of an update, the parts of a chunk', () => {
    expect(receiveEvent(v10, { artifactUpdate: { taskId: 't', artifact: {} } })).toEqual({
      artifactUpdate: { taskId: 't', contextId: '', artifact: { artifactId: '', parts: [] } },
    })
    expect(receiveEvent(v10, { statusUpdate: { taskId: 't', status: {} } })).toEqual({
      statusUpdate: { taskId: 't', contextId: '', status: { state: 'TASK_STATE_UNSPECIFIED' } },
    })
  })

  test('lists, tokens and counts', () => {
    expect(receiveResult(v10, {}, listTasks)).toEqual({
      tasks: [],
      nextPageToken: '',
      pageSize: 0,
      totalSize: 0,
    })
    expect(receiveResult(v10, {}, listConfigs)).toEqual({ configs: [] })
  })

  test('what a card has none of', () => {
    expect(receiveCard({ name: 'A', skills: [{ id: 's' }] })).toEqual({
      name: 'A',
      description: '',
      version: '',
      supportedInterfaces: [],
      capabilities: {},
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 's', name: '', description: '', tags: [] }],
    })
  })
})

test('a card that names 0.2 is spoken to in 0.3', () => {
  const card = { name: 'Old', protocolVersion: '0.2.0', url: 'https://a.example/' }
  expect(receiveCard(card).supportedInterfaces).toEqual([
    { url: 'https://a.example/', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
  ])
})

test('unknown members are ignored, at every depth', () => {
  const status = { state: 'TASK_STATE_WORKING', novel: 1 }
  const task = {
    id: 't',
    contextId: 'c',
    status,
    artifacts: [{ artifactId: 'a', parts: [], x: {} }],
  }
  expect(receiveResult(v10, { ...task, later: true }, getTask)).toEqual({
    id: 't',
    contextId: 'c',
    status: { state: 'TASK_STATE_WORKING' },
    artifacts: [{ artifactId: 'a', parts: [] }],
  })
})

test('what is canonical passes uncopied', () => {
  const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
  expect(receiveResult(v10, task, getTask)).toBe(task)
  const event = { statusUpdate: { taskId: 't', contextId: 'c', status: task.status } }
  expect(receiveEvent(v10, event)).toBe(event)
})
