import { describe, expect, test } from 'vitest'
import type { Dialect } from '../../../src/bindings/dialects/dialect.ts'
import { type RpcDialectName, rpcDialects } from '../../../src/bindings/dialects/rpc-dialects.ts'
import { A2AError, type ErrorCode, errorCodes } from '../../../src/protocol/errors.ts'

/** seed-checklist §3.2: ranch, 0.3, 1.0 and its release candidate. */
const numbers: Readonly<Record<ErrorCode, readonly [ranch: number, v03: number, v10: number]>> = {
  taskNotFound: [-32004, -32001, -32001],
  taskNotCancelable: [-32002, -32002, -32002],
  pushNotificationNotSupported: [-32601, -32003, -32003],
  unsupportedOperation: [-32601, -32004, -32004],
  contentTypeNotSupported: [-32001, -32005, -32005],
  invalidAgentResponse: [-32002, -32006, -32006],
  extendedAgentCardNotConfigured: [-32601, -32007, -32007],
  extensionSupportRequired: [-32602, -32602, -32008],
  versionNotSupported: [-32007, -32009, -32009],
  parseError: [-32700, -32700, -32700],
  invalidRequest: [-32600, -32600, -32600],
  methodNotFound: [-32601, -32601, -32601],
  invalidParams: [-32602, -32602, -32602],
  invalidMessage: [-32001, -32602, -32602],
  processingError: [-32002, -32603, -32603],
  agentUnavailable: [-32003, -32603, -32603],
  contextLengthExceeded: [-32002, -32603, -32603],
  insufficientQuota: [-32003, -32603, -32603],
  toolRoundLimit: [-32002, -32603, -32603],
  taskFailed: [-32005, -32004, -32004],
  taskCanceled: [-32006, -32004, -32004],
  unauthenticated: [-32600, -32600, -32600],
  forbidden: [-32600, -32600, -32600],
  requestTimeout: [-32600, -32600, -32600],
  payloadTooLarge: [-32600, -32600, -32600],
  rateLimited: [-32600, -32600, -32600],
  unavailable: [-32603, -32603, -32603],
  timeout: [-32603, -32603, -32603],
  internal: [-32603, -32603, -32603],
}

const columns: readonly [RpcDialectName, 0 | 1 | 2][] = [
  ['ranch', 0],
  ['0.3', 1],
  ['1.0', 2],
  ['1.0-rc', 2],
]

describe.each(columns)('I002 errors of %s', (name, column) => {
  const dialect: Dialect = rpcDialects[name]

  test.each(errorCodes)('%s has the number of this dialect and no other', (code) => {
    const error = dialect.encodeError(new A2AError(code, 'why'))
    expect(error.code).toBe(numbers[code][column])
    expect(error.message).toBe('why')
  })

  // Two pairs share number and reason, and the first of the pair stands for both.
  const told: Partial<Record<ErrorCode, ErrorCode>> =
    name === 'ranch'
      ? {}
      : {
          taskFailed: 'unsupportedOperation',
          taskCanceled: 'unsupportedOperation',
          invalidMessage: 'invalidParams',
        }

  test.each(errorCodes)('I010 %s comes back as the error it was', (code) => {
    const details = {
      metadata: { taskId: 'task-t' },
      violations: [{ field: 'a', description: 'b' }],
    }
    const sent = JSON.parse(JSON.stringify(dialect.encodeError(new A2AError(code, 'why', details))))
    const read = dialect.decodeError(sent)
    expect([read.code, read.message]).toEqual([told[code] ?? code, 'why'])
    expect(read.details).toEqual(details)
  })

  test('a stranger’s error without data is told by its number', () => {
    expect(dialect.decodeError({ code: -32601, message: '' }).code).toBe('methodNotFound')
    expect(dialect.decodeError({ code: -32603, message: '' }).code).toBe('internal')
    expect(dialect.decodeError({ code: -32004, message: '', data: 'x' }).code).toBe(
      name === 'ranch' ? 'taskNotFound' : 'unsupportedOperation',
    )
    expect(dialect.decodeError({ code: -1, message: '' }).code).toBe('internal')
  })
})

test('C-39: RANCH tells a malformed message from missing params', () => {
  const violations = [{ field: 'message.parts[0]', description: 'no content' }]
  const error = new A2AError('invalidParams', 'Invalid parameters', { violations })
  expect(rpcDialects.ranch.encodeError(error).code).toBe(-32001)
  expect(rpcDialects['0.3'].encodeError(error).code).toBe(-32602)
})
