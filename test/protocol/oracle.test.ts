import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { A2AError } from '../../src/protocol/errors.ts'
import { operationNames } from '../../src/protocol/operations.ts'
import * as schema from '../../src/protocol/schema.ts'
import { requests, responses, spoiled } from './arbitraries.ts'
import { requestOracle, responseOracle } from './oracle.ts'

const parsers = {
  task: schema.parseTask,
  message: schema.parseMessage,
  streamResponse: schema.parseStreamResponse,
  sendMessageResponse: (input: unknown) => schema.parseResult('SendMessage', input),
  pushConfig: (input: unknown) => schema.parseResult('GetTaskPushNotificationConfig', input),
  agentCard: (input: unknown) => schema.parseResult('GetExtendedAgentCard', input),
}

/** Both accept, with the same canonical value, or both refuse. */
function agree(parse: (input: unknown) => unknown, oracle: z.ZodType, input: unknown): boolean {
  const opinion = oracle.safeParse(structuredClone(input))
  try {
    const value = parse(input)
    expect(opinion.success, 'the oracle refuses what the schema accepts').toBe(true)
    expect(plain(value)).toEqual(plain(opinion.data))
    return true
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    expect(opinion.success, `the oracle accepts what the schema refuses: ${error.message}`).toBe(
      false,
    )
    return false
  }
}

/** As it would travel: without members that are undefined. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('the schema agrees with the oracle', () => {
  test.each(operationNames)('on requests of %s', (name) => {
    const parse = (input: unknown): unknown => schema.parseRequest(name, input)
    const check = (input: unknown): void => void agree(parse, requestOracle[name], input)
    fc.assert(fc.property(requests[name], check), { numRuns: 250 })
    fc.assert(fc.property(spoiled(requests[name]), check), { numRuns: 400 })
  })

  test.each(Object.keys(parsers) as (keyof typeof parsers)[])('on a received %s', (kind) => {
    const check = (input: unknown): void => void agree(parsers[kind], responseOracle[kind], input)
    fc.assert(fc.property(responses[kind], check), { numRuns: 250 })
    fc.assert(fc.property(spoiled(responses[kind]), check), { numRuns: 400 })
  })

  test('and the spoiled inputs are neither all good nor all bad', () => {
    const parse = (input: unknown): unknown => schema.parseRequest('SendMessage', input)
    const inputs = fc.sample(spoiled(requests.SendMessage), 500)
    const accepted = inputs.filter((input) => agree(parse, requestOracle.SendMessage, input)).length
    expect(accepted).toBeGreaterThan(50)
    expect(accepted).toBeLessThan(450)
  })
})

test('parsing is idempotent: a canonical value is given back as the same object', () => {
  for (const name of operationNames) {
    const property = fc.property(requests[name], (input) => {
      const once = attempt(() => schema.parseRequest(name, input))
      if (once !== undefined) expect(schema.parseRequest(name, once)).toBe(once)
    })
    fc.assert(property)
  }
})

test('anything at all is parsed or refused with an A2AError', () => {
  const property = fc.property(fc.anything(), (input) => {
    attempt(() => schema.parseRequest('SendMessage', { message: input, metadata: input }))
    attempt(() => schema.parseStreamResponse(input))
    attempt(() => schema.parseResult('GetExtendedAgentCard', input))
  })
  fc.assert(property, { numRuns: 2000 })
})

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    expect(error).toBeInstanceOf(A2AError)
    return undefined
  }
}
