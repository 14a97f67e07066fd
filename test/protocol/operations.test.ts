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

test('each operation needs a scope, and a capability or none', () => {
  const needs = operationNames.map((name) => {
    const { scope, needs, refusal } = operations[name]
    return [scope, needs, refusal].map((one) => one ?? '-').join(' ')
  })
  expect(needs).toEqual([
    'tasks:write - -',
    'tasks:write streaming unsupportedOperation',
    'tasks:read - -',
    'tasks:read - -',
    'tasks:write - -',
    'tasks:read streaming unsupportedOperation',
    'push pushNotifications pushNotificationNotSupported',
    'push pushNotifications pushNotificationNotSupported',
    'push pushNotifications pushNotificationNotSupported',
    'push pushNotifications pushNotificationNotSupported',
    '- extendedAgentCard unsupportedOperation',
  ])
  expect(operationNames.filter((name) => operations[name].polls)).toEqual(['GetTask'])
})

test.each([
  [{}, ['tasks:read', 'tasks:write', 'push']],
  [{ scopes: [] }, ['tasks:read', 'tasks:write', 'push']],
  [{ scopes: ['unknown'] }, ['tasks:read', 'tasks:write', 'push']],
  [{ scopes: ['push', 'unknown'] }, ['push']],
  [{ scopes: ['operator'] }, ['operator']],
  [{ scopes: ['tasks:read', 'agent:a'] }, ['tasks:read']],
])('the grant %j has the scopes %j', (grant, scopes) => {
  expect(scopeNames.filter((scope) => hasScope(grant, scope))).toEqual(scopes)
  for (const scope of scopeNames) {
    if (scopes.includes(scope)) mustHaveScope(grant, scope)
    else
      expect(() => mustHaveScope(grant, scope)).toThrow(
        expect.objectContaining({
          code: 'forbidden',
          message: expect.stringContaining(scope),
          details: {
            reason: 'INSUFFICIENT_SCOPE',
            challenge: `Bearer error="insufficient_scope", scope="${scope}"`,
          },
        }),
      )
  }
})

test.each([
  [undefined, true],
  [[], true],
  [['tasks:read'], true],
  [['agent:a'], true],
  [['tasks:read', 'agent:b', 'agent:a'], true],
  [['agent:b'], false],
  [['agent:'], false],
  [['agent:aa'], false],
])('a credential with the scopes %j reaches agent a: %j', (scopes, reaches) => {
  expect(reachesAgent(scopes ? { scopes } : {}, 'a')).toBe(reaches)
})

test('a scope is a name of the list, or that of an agent', () => {
  const good = ['tasks:read', 'tasks:write', 'push', 'operator', 'agent:a', 'agent:a b']
  expect(good.filter((scope) => !isScope(scope))).toEqual([])
  expect(['agent:', 'agent', 'Push', '', 'tasks:', 'xagent:a'].filter(isScope)).toEqual([])
})

test.each<[readonly string[] | undefined, string, string | RegExp]>([
  [undefined, 'any', 'any'],
  [undefined, '', ''],
  [['a'], 'a', 'a'],
  [['a'], '', 'a'],
  [['a', 'a'], '', 'a'],
  [['a', ''], '', ''],
  [['a', 'b'], 'b', 'b'],
  [['a'], 'b', /not good for this tenant/],
  [['a', 'b'], '', /several tenants/],
  [['a', 'b'], 'c', /not good for this tenant/],
  [[], '', /not good for this tenant/],
  [[], 'a', /not good for this tenant/],
])('credentials for the tenants %j are good in %j: %s', (tenants, named, expected) => {
  const find = () => tenantFor(tenants ? { tenants } : {}, named)
  if (typeof expected === 'string') expect(find()).toBe(expected)
  else
    expect(find).toThrow(
      expect.objectContaining({ code: 'forbidden', message: expect.stringMatching(expected) }),
    )
})

test('limits count against the user, else against the address, else against nobody', () => {
  expect(principalOf({ auth: { userId: 'a' }, client: 'b' })).toBe('user a')
  expect(principalOf({ auth: { userId: '' }, client: 'b' })).toBe('address b')
  expect(principalOf({ client: 'a' })).toBe('address a')
  expect(principalOf({ auth: { userId: '' } })).toBe('')
})

test('whoever can call where only this machine can may read the words of errors', () => {
  const auth = { userId: 'u', scopes: ['push'] }
  expect(mayExplain({ auth, isLocal: true })).toBe(true)
  expect(mayExplain({ auth })).toBe(false)
  expect(mayExplain({ auth: { ...auth, scopes: ['operator'] } })).toBe(true)
  expect(mayExplain({ auth: { userId: 'u' } })).toBe(false)
})
