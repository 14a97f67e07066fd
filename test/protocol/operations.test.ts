import { expect, test } from 'vitest'
import {
  hasScope,
  isOperationName,
  isOperator,
  mayExplain,
  mustReachAgent,
  operationNames,
  operations,
  scopeNames,
} from '../../src/protocol/operations.ts'

test('J003: there are eleven operations, in the order of the specification', () => {
  expect(operationNames).toEqual([
    'SendMessage',
    'SendStreamingMessage',
    'GetTask',
    'ListTasks',
    'CancelTask',
    'SubscribeToTask',
    'CreateTaskPushNotificationConfig',
    'GetTaskPushNotificationConfig',
    'ListTaskPushNotificationConfigs',
    'DeleteTaskPushNotificationConfig',
    'GetExtendedAgentCard',
  ])
})

test('J004: each has its verbs and path', () => {
  const routes = operationNames.map((name) => {
    const { verbs, path } = operations[name].rest
    return `${verbs.join('|')} ${path}`
  })
  expect(routes).toEqual([
    'POST /message:send',
    'POST /message:stream',
    'GET /tasks/{id}',
    'GET /tasks',
    'POST /tasks/{id}:cancel',
    'POST|GET /tasks/{id}:subscribe',
    'POST /tasks/{taskId}/pushNotificationConfigs',
    'GET /tasks/{taskId}/pushNotificationConfigs/{id}',
    'GET /tasks/{taskId}/pushNotificationConfigs',
    'DELETE /tasks/{taskId}/pushNotificationConfigs/{id}',
    'GET /extendedAgentCard',
  ])
})

test('only the streaming operations stream, and they need the capability', () => {
  const streams = operationNames.filter((name) => operations[name].stream)
  expect(streams).toEqual(['SendStreamingMessage', 'SubscribeToTask'])
  expect(streams.every((name) => operations[name].needs === 'streaming')).toBe(true)
})

test('nothing may be sent twice freely that makes something new', () => {
  const careful = operationNames.filter((name) => !operations[name].idempotent)
  expect(careful).toEqual([
    'SendMessage',
    'SendStreamingMessage',
    'CreateTaskPushNotificationConfig',
  ])
})

test('names of objects in general are no operations', () => {
  expect(isOperationName('GetTask')).toBe(true)
  for (const name of ['toString', '__proto__', 'message/send', '']) {
    expect(isOperationName(name)).toBe(false)
  }
})

test('only an operator whose credential names no tenants sees the tasks of all', () => {
  const auth = { userId: 'o', scopes: ['operator'] }
  expect(isOperator({ auth })).toBe(true)
  expect(isOperator({ auth: { ...auth, tenants: ['a'] } })).toBe(false)
  expect(mayExplain({ auth: { ...auth, tenants: [] } })).toBe(false)
  expect(isOperator({ auth: { userId: 'o', scopes: ['read'] } })).toBe(false)
})

test.each([
  ['b!#[]~', 'agent:b!#[]~'],
  ['b"c\\d é', 'agent:b?c?d??'],
])(
  'a challenge names the missing scope in characters that a quoted text can hold: %s',
  (id, name) => {
    const challenge = `Bearer error="insufficient_scope", scope="${name}"`
    expect(() => mustReachAgent({ scopes: ['agent:a'] }, id)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ challenge }) }),
    )
  },
)

test('a credential that names agents alone has every scope with them but operator', () => {
  const auth = { scopes: ['agent:a'] }
  expect(scopeNames.filter((scope) => hasScope(auth, scope))).toEqual([
    'tasks:read',
    'tasks:write',
    'push',
  ])
})
