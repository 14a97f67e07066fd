import { describe, expect, test } from 'vitest'
import { createGate, type OperationHandlers, type Service } from '../../src/operations/gate.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { anonymous, type OperationName, operationNames } from '../../src/protocol/operations.ts'
import type { AgentCard } from '../../src/protocol/types.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { createEngineFor } from '../engine/scene.ts'

const card: AgentCard = {
  name: 'a',
  description: 'a',
  version: '1',
  supportedInterfaces: [],
  capabilities: { extensions: [{ uri: 'urn:must', required: true }, { uri: 'urn:may' }] },
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
}

/** A gate that notes what it asks, and handlers that are never reached with a bad request. */
function createNotedGate(service: Partial<Service> = {}) {
  const asked: string[] = []
  const outcomes: string[] = []
  const { engine } = createEngineFor(createScriptedAgent())
  const handlers = Object.fromEntries(
    operationNames.map((name) => [
      name,
      async () => {
        asked.push(`handle ${name}`)
        return null
      },
    ]),
  ) as unknown as OperationHandlers // one for each operation, all alike
  const dispatch = createGate({
    engine,
    clock: systemClock,
    agent: {
      card() {
        asked.push('card')
        return card
      },
      openExtendedCard: false,
      inputModes: undefined,
      checksInput: false,
      checkInput: () => undefined,
    },
    auth: {
      authenticate() {
        asked.push('who')
        return anonymous
      },
    },
    metrics: { observe: (name, outcome) => void outcomes.push(`${name} ${outcome}`) },
    blockingTimeoutMs: 1,
    handlers,
    ...service,
  })
  return { dispatch, asked, outcomes }
}

const extensions = ['urn:must', 'urn:unknown', 'urn:may']

describe('the gate', () => {
  test.each(operationNames)(
    'asks who calls before anything else of %s',
    async (name: OperationName) => {
      const { dispatch, asked } = createNotedGate({
        auth: {
          authenticate: () => Promise.reject(new A2AError('unauthenticated', 'Who are you?')),
        },
      })
      await expect(dispatch(name, {} as never, {})).rejects.toMatchObject({
        code: 'unauthenticated',
      })
      expect(asked).toEqual([])
    },
  )

  test('asks for required extensions before it looks at the request', async () => {
    const { dispatch, asked } = createNotedGate()
    await expect(dispatch('GetTask', { id: '' }, {})).rejects.toMatchObject({
      code: 'extensionSupportRequired',
      details: { metadata: { extension: 'urn:must' } },
    })
    expect(asked).toEqual(['who', 'card'])
  })

  test('tells which extensions are active: those that both sides name', async () => {
    const { dispatch } = createNotedGate()
    const reply = {}
    await dispatch('GetTask', { id: 't' }, { extensions, reply })
    expect(reply).toEqual({ extensions: ['urn:must', 'urn:may'] })
  })

  test('refuses what the card does not offer, before it looks at the request', async () => {
    const { dispatch } = createNotedGate()
    const refused: readonly [OperationName, string][] = [
      ['SendStreamingMessage', 'unsupportedOperation'],
      ['SubscribeToTask', 'unsupportedOperation'],
      ['CreateTaskPushNotificationConfig', 'pushNotificationNotSupported'],
      ['ListTaskPushNotificationConfigs', 'pushNotificationNotSupported'],
      ['GetExtendedAgentCard', 'unsupportedOperation'],
    ]
    for (const [name, code] of refused)
      await expect(dispatch(name, {} as never, { extensions })).rejects.toMatchObject({ code })
  })

  test('lets no malformed request through to a handler, and names the field', async () => {
    const { dispatch, asked } = createNotedGate()
    const bad = { message: { messageId: 'm', role: 'ROLE_USER', parts: [] } } as const
    await expect(dispatch('SendMessage', bad, { extensions })).rejects.toMatchObject({
      code: 'invalidMessage',
      details: { violations: [{ field: 'message.parts' }] },
    })
    expect(asked).not.toContain('handle SendMessage')
  })

  test('notes how each operation ended', async () => {
    const { dispatch, outcomes } = createNotedGate()
    await dispatch('GetTask', { id: 't' }, { extensions })
    await dispatch('GetTask', { id: 't' }, {}).catch(() => {})
    expect(outcomes).toEqual(['GetTask ok', 'GetTask extensionSupportRequired'])
  })
})
