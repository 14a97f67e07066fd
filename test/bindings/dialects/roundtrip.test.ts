import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Dialect } from '../../../src/bindings/dialects/dialect.ts'
import { asRaw, decodeMessage } from '../../../src/bindings/dialects/lenient.ts'
import { ranch } from '../../../src/bindings/dialects/ranch.ts'
import { v03 } from '../../../src/bindings/dialects/v03.ts'
import { rest03, toProtoMessage } from '../../../src/bindings/dialects/v03-rest.ts'
import { rc, v10 } from '../../../src/bindings/dialects/v10.ts'
import { operationNames } from '../../../src/protocol/operations.ts'
import type { Message, Task } from '../../../src/protocol/types.ts'
import { event, message, task } from './arbitrary.ts'

const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe.each([v10, rc, v03])('$name loses nothing', (dialect: Dialect) => {
  test('of an event on its way to a client', () => {
    fc.assert(
      fc.property(event, (value) => {
        const sent = wire(dialect.encodeEvent(value, 'SubscribeToTask'))
        expect(dialect.decodeEvent(sent)).toEqual(value)
      }),
    )
  })

  test('of a task or message on its way to a client', () => {
    const method = [...dialect.methods.values()].find((m) => m.operation === 'SendMessage')
    fc.assert(
      fc.property(fc.oneof(fc.record({ task }), fc.record({ message })), (value) => {
        const sent = wire(method?.encode ? method.encode(value, { request: {} }) : value)
        const request = { message: {} as Message } // true: this decoder does not look at the request
        expect(dialect.decodeResult('SendMessage', sent, request)).toEqual(value)
      }),
    )
  })

  test('of a message on its way to a server', () => {
    fc.assert(
      fc.property(message, fc.boolean(), (value, returnImmediately) => {
        const request = { message: value, configuration: { historyLength: 3, returnImmediately } }
        const rpc = dialect.encodeRequest('SendMessage', request)
        const decoded = dialect.methods.get(rpc?.method ?? '')?.decode(wire(rpc?.params))
        expect(decoded?.request).toMatchObject({
          message: value,
          configuration: { historyLength: 3 },
        })
        const read = asRaw(asRaw(decoded?.request)?.configuration)
        expect(read?.returnImmediately ?? false).toBe(returnImmediately)
      }),
    )
  })

  test('of the requests that name a task or a webhook', () => {
    const authentication = { scheme: 'Bearer', credentials: 's' }
    const requests = {
      GetTask: { id: 't', historyLength: 0 },
      CancelTask: { id: 't', metadata: { why: 'x' } },
      SubscribeToTask: { id: 't' },
      CreateTaskPushNotificationConfig: {
        taskId: 't',
        id: 'c',
        url: 'https://a.example',
        token: 'k',
        authentication,
      },
      GetTaskPushNotificationConfig: { taskId: 't', id: 'c' },
      ListTaskPushNotificationConfigs: { taskId: 't' },
      DeleteTaskPushNotificationConfig: { taskId: 't', id: 'c' },
    } as const
    for (const name of operationNames) {
      if (!(name in requests)) continue
      const request = requests[name as keyof typeof requests] // true: checked in the line above
      const rpc = dialect.encodeRequest(name, request)
      expect(dialect.methods.get(rpc?.method ?? '')?.operation).toBe(name)
      expect(dialect.methods.get(rpc?.method ?? '')?.decode(wire(rpc?.params)).request).toEqual(
        request,
      )
    }
  })
})

describe('0.3 REST', () => {
  test('loses only references to other tasks', () => {
    fc.assert(
      fc.property(event, (value) => {
        const sent = wire(rest03.encodeEvent(value, 'SubscribeToTask'))
        expect(rest03.decodeEvent(sent)).toEqual(withoutReferences(value))
      }),
    )
  })

  test('reads a message as it wrote it', () => {
    fc.assert(
      fc.property(message, (value) => {
        const body = wire({ message: toProtoMessage(value) })
        expect(rest03.decodeRequest('SendMessage', { body, params: {}, query: {} })).toEqual({
          message: withoutReferences(value),
        })
      }),
    )
  })
})

describe('RANCH', () => {
  test('keeps role, parts, metadata and the ids of the conversation on the way in', () => {
    fc.assert(
      fc.property(message, (value) => {
        const rpc = ranch.encodeRequest('SendMessage', { message: value })
        const decoded = ranch.methods.get('message/send')?.decode(wire(rpc?.params))
        const { extensions: _, referenceTaskIds: __, ...kept } = value
        expect(decoded?.request).toEqual({ message: kept })
      }),
    )
  })

  test('keeps id and state of a task on the way out, and the parts of its answer', () => {
    fc.assert(
      fc.property(task, (value) => {
        const sent = wire(ranch.methods.get('task/get')?.encode?.(value, { request: {} }))
        const got = ranch.decodeResult('GetTask', sent, { id: value.id }) as Task // as it was written
        expect(got.id).toBe(`task-${value.id}`)
        expect(got.status.state).toBe(folded[value.status.state] ?? value.status.state)
        const parts = value.artifacts?.flatMap((a) => a.parts) ?? []
        if (value.status.state === 'TASK_STATE_COMPLETED' && parts.length > 0)
          expect(got.artifacts).toEqual([{ artifactId: 'response', parts }])
      }),
    )
  })

  // The states that RANCH has no word for.
  const folded: Partial<Record<Task['status']['state'], string>> = {
    TASK_STATE_INPUT_REQUIRED: 'TASK_STATE_WORKING',
    TASK_STATE_AUTH_REQUIRED: 'TASK_STATE_WORKING',
    TASK_STATE_REJECTED: 'TASK_STATE_FAILED',
  }
})

test('a canonical message is handed on, not copied', () => {
  fc.assert(
    fc.property(message, (value) => {
      expect(decodeMessage(value)).toBe(value)
    }),
  )
})

test('a member called __proto__ gives a request nothing to inherit', () => {
  const params = JSON.parse('{"status":"working","__proto__":{"pageSize":7},"kind":null}')
  const decoded = asRaw(rc.methods.get('tasks/list')?.decode(params).request)
  expect(decoded?.pageSize).toBeUndefined()
  expect(decoded).toEqual({ status: 'TASK_STATE_WORKING' })
})

/** The value without any `referenceTaskIds`. */
function withoutReferences<T>(value: T): T {
  const text = JSON.stringify(value, (key, member) =>
    key === 'referenceTaskIds' ? undefined : member,
  )
  return JSON.parse(text)
}
