import { describe, expect, test } from 'vitest'
import type { RpcDialectName } from '../../../src/bindings/dialects/rpc-dialects.ts'
import { selectDialect } from '../../../src/bindings/jsonrpc/server.ts'

const type = { message: { role: 'user', parts: [{ type: 'text', text: 'x' }] } }
const kind = { message: { role: 'user', parts: [{ kind: 'text', text: 'x' }] } }
const messageKind = { message: { kind: 'message', role: 'user', parts: [{ text: 'x' }] } }
const role = { message: { role: 'ROLE_USER', parts: [{ text: 'x' }] } }
const bare = { message: { role: 'user', parts: [{ text: 'x' }] } }
const mixed = {
  message: {
    role: 'user',
    parts: [
      { type: 'text', text: 'x' },
      { kind: 'text', text: 'y' },
    ],
  },
}
const typeAndRole = { message: { role: 'ROLE_USER', parts: [{ type: 'text', text: 'x' }] } }
const kindAndRole = { message: { role: 'ROLE_USER', parts: [{ kind: 'text', text: 'x' }] } }
const noParts = { message: { role: 'user' } }

type Row = readonly [
  version: string,
  method: string,
  params: unknown,
  path: RpcDialectName,
  expected: RpcDialectName,
  unsupported?: true,
]

const rows: readonly Row[] = [
  // Rule 0: RANCH's own names, on every path and under every supported version.
  ['', 'task/get', {}, 'ranch', 'ranch'],
  ['', 'task/get', {}, '0.3', 'ranch'],
  ['', 'task/status', {}, '1.0-rc', 'ranch'],
  ['', 'task/cancel', {}, '0.3', 'ranch'],
  ['', 'task/resubscribe', {}, '0.3', 'ranch'],
  ['', 'agent/card', undefined, '0.3', 'ranch'],
  ['1.0', 'task/get', {}, '0.3', 'ranch'],
  ['1.0', 'agent/card', {}, '1.0-rc', 'ranch'],
  ['0.3', 'task/status', {}, 'ranch', 'ranch'],
  ['1.0.3', 'task/cancel', {}, 'ranch', 'ranch'],
  ['2.0', 'task/get', {}, '0.3', 'ranch', true],
  ['2.0', 'agent/card', {}, 'ranch', 'ranch', true],
  // Rule 1: the version.
  ['1.0', 'SendMessage', role, '0.3', '1.0'],
  ['1.0', 'SendMessage', kind, 'ranch', '1.0'],
  ['1.0', 'message/send', kind, '0.3', '1.0'],
  ['1.0', 'message/send', type, 'ranch', '1.0'],
  ['1.0', 'tasks/get', {}, '0.3', '1.0'],
  ['1.0', 'foo/bar', {}, 'ranch', '1.0'],
  ['1.0.0', 'SendMessage', role, '0.3', '1.0'],
  ['1.0.17', 'tasks/get', {}, 'ranch', '1.0'],
  ['0.3', 'message/send', role, '1.0-rc', '0.3'],
  ['0.3', 'message/send', type, 'ranch', '0.3'],
  ['0.3', 'SendMessage', role, '0.3', '0.3'],
  ['0.3.0', 'tasks/get', {}, 'ranch', '0.3'],
  ['0.3', 'tasks/list', {}, '1.0-rc', '0.3'],
  ['2.0', 'SendMessage', role, '0.3', '1.0', true],
  ['99.0', 'message/send', kind, 'ranch', '0.3', true],
  ['99.0', 'message/send', type, '0.3', 'ranch', true],
  ['0.2', 'message/send', bare, 'ranch', 'ranch', true],
  ['1.1', 'tasks/get', {}, '1.0-rc', '1.0-rc', true],
  ['1', 'tasks/get', {}, '0.3', '0.3', true],
  ['1.0.x', 'tasks/get', {}, '0.3', '0.3', true],
  ['v1.0', 'tasks/get', {}, '0.3', '0.3', true],
  ['1.0 ', 'tasks/get', {}, '0.3', '0.3', true],
  // Rule 2: PascalCase without a version.
  ['', 'SendMessage', role, '0.3', '1.0'],
  ['', 'SendMessage', kind, 'ranch', '1.0'],
  ['', 'GetTask', {}, '1.0-rc', '1.0'],
  ['', 'ListTasks', undefined, 'ranch', '1.0'],
  ['', 'GetExtendedAgentCard', undefined, '0.3', '1.0'],
  // Rule 3: marks in the body.
  ['', 'message/send', type, '0.3', 'ranch'],
  ['', 'message/send', type, '1.0-rc', 'ranch'],
  ['', 'message/stream', type, '0.3', 'ranch'],
  ['', 'message/send', kind, 'ranch', '0.3'],
  ['', 'message/send', kind, '1.0-rc', '0.3'],
  ['', 'message/stream', messageKind, 'ranch', '0.3'],
  ['', 'message/send', role, 'ranch', '1.0-rc'],
  ['', 'message/send', role, '0.3', '1.0-rc'],
  ['', 'message/sendStreaming', role, '0.3', '1.0-rc'],
  // Ambiguous: kind beats type, type beats the role.
  ['', 'message/send', mixed, 'ranch', '0.3'],
  ['', 'message/send', kindAndRole, '1.0-rc', '0.3'],
  ['', 'message/send', typeAndRole, '1.0-rc', 'ranch'],
  // Rule 4: the path.
  ['', 'message/send', bare, 'ranch', 'ranch'],
  ['', 'message/send', bare, '1.0-rc', '1.0-rc'],
  ['', 'message/send', bare, '0.3', '0.3'],
  ['', 'message/send', noParts, 'ranch', 'ranch'],
  ['', 'message/send', {}, '0.3', '0.3'],
  ['', 'message/send', undefined, 'ranch', 'ranch'],
  ['', 'tasks/get', {}, '0.3', '0.3'],
  ['', 'tasks/get', {}, '1.0-rc', '1.0-rc'],
  // Rule 4, where the path's dialect has no such method.
  ['', 'tasks/get', {}, 'ranch', '0.3'],
  ['', 'tasks/cancel', {}, 'ranch', '0.3'],
  ['', 'tasks/pushNotificationConfig/set', {}, 'ranch', '0.3'],
  ['', 'tasks/subscribe', {}, '0.3', '1.0-rc'],
  ['', 'tasks/pushNotificationConfig/create', {}, 'ranch', '1.0-rc'],
  ['', 'agentCard/getExtended', {}, '0.3', '1.0-rc'],
  ['', 'foo/bar', {}, 'ranch', 'ranch'],
  ['', 'foo/bar', {}, '0.3', '0.3'],
  ['', 'constructor', {}, '1.0-rc', '1.0-rc'],
  ['', 'sendmessage', {}, '0.3', '0.3'],
]

describe('the choice of a dialect', () => {
  for (const [version, method, params, fallback, expected, unsupported] of rows)
    test(`"${version}" ${method} ${JSON.stringify(params)} on a ${fallback} path is ${expected}`, () => {
      const choice = selectDialect({ version, method, params, fallback })
      expect(choice.dialect.name).toBe(expected)
      expect(choice.unsupported).toBe(unsupported ? version : undefined)
    })

  test('B005 is the same for every patch of a version', () => {
    for (const version of ['1.0', '1.0.0', '1.0.7'])
      expect(
        selectDialect({ version, method: 'x', params: {}, fallback: '0.3' }).dialect.name,
      ).toBe('1.0')
  })
})
