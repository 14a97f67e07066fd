import { expect, test } from 'vitest'
import {
  hasScope,
  isOperationName,
  isOperator,
  isScope,
  mayExplain,
  mustHaveScope,
  mustReachAgent,
  operationNames,
  operations,
  principalOf,
  reachesAgent,
  scopeNames,
  tenantFor,
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

test.each<[string, boolean]>([
  ['tasks:read', true],
  ['operator', true],
  ['agent:a', true],
  ['agent:', false],
  ['tasks', false],
  ['', false],
])('%j is a scope of ours: %j', (scope, is) => {
  expect(isScope(scope)).toBe(is)
})

test('a credential has the scopes that it names, and else all but operator', () => {
  const of = (...scopes: string[]) => scopeNames.filter((scope) => hasScope({ scopes }, scope))
  const usual = ['tasks:read', 'tasks:write', 'push']
  expect(scopeNames.filter((scope) => hasScope({}, scope))).toEqual(usual)
  expect(of()).toEqual(usual)
  expect(of('openid', 'email')).toEqual(usual)
  expect(of('tasks:read', 'openid')).toEqual(['tasks:read'])
  expect(of('operator')).toEqual(['operator'])
  expect(() => mustHaveScope({ scopes: ['push'] }, 'push')).not.toThrow()
  expect(() => mustHaveScope({ scopes: ['push'] }, 'operator')).toThrow('lack the scope operator')
})

test.each<[readonly string[] | undefined, boolean]>([
  [undefined, true],
  [['tasks:read'], true],
  [['agent:a'], true],
  [['agent:b', 'agent:a'], true],
  [['agent:b'], false],
  [['agent:ab'], false],
])('a credential with %j reaches the agent a: %j', (scopes, reaches) => {
  expect(reachesAgent(scopes ? { scopes } : {}, 'a')).toBe(reaches)
})

test.each<[readonly string[] | undefined, string, string]>([
  [undefined, '', ''],
  [undefined, 'x', 'x'],
  [['a'], 'a', 'a'],
  [['a'], '', 'a'],
  [['a', 'a'], '', 'a'],
  [['a', ''], '', ''],
  [['a', 'b'], 'b', 'b'],
])('a credential for %j that names %j is in %j', (tenants, named, tenant) => {
  expect(tenantFor(tenants ? { tenants } : {}, named)).toBe(tenant)
})

test.each<[readonly string[], string, string]>([
  [['a'], 'b', 'not good for this tenant'],
  [[], '', 'not good for this tenant'],
  [['a', 'b'], '', 'good for several tenants'],
  [['a', 'b'], 'c', 'not good for this tenant'],
])('a credential for %j may not be in %j', (tenants, named, words) => {
  expect(() => tenantFor({ tenants }, named)).toThrow(words)
})

test('a share is a user’s, else that of an address, else nobody’s', () => {
  expect(principalOf({ auth: { userId: 'a' }, client: 'b' })).toBe('user a')
  expect(principalOf({ auth: { userId: '' }, client: 'b' })).toBe('address b')
  expect(principalOf({ client: 'b' })).toBe('address b')
  expect(principalOf({})).toBe('')
})

test('who reads the words of errors is an operator, or anyone where only this machine can call', () => {
  const auth = { userId: '' }
  expect(mayExplain({ auth })).toBe(false)
  expect(mayExplain({ auth, isLocal: true })).toBe(true)
  expect(mayExplain({ auth: { userId: 'o', scopes: ['operator'] } })).toBe(true)
})
