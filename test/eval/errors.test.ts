import { describe, expect, test } from 'vitest'
import {
  A2AAuthError,
  A2ADiscoveryError,
  A2AMessageError,
  A2ATimeoutError,
  statusCodeOf,
  toEvalError,
  ValidationError,
} from '../../src/eval/base.ts'
import { toSimulationFault } from '../../src/eval/results/simulation.ts'
import { A2AError, type ErrorCode } from '../../src/protocol/errors.ts'

describe('the family of errors (T-3)', () => {
  const family = [
    [new A2ATimeoutError('x'), 'A2ATimeoutError', 408],
    [new A2AAuthError('x'), 'A2AAuthError', 401],
    [new A2ADiscoveryError('x'), 'A2ADiscoveryError', 404],
    [new A2AMessageError('x'), 'A2AMessageError', 400],
    [new ValidationError('x'), 'ValidationError', 400],
    [new A2AError('internal', 'x'), 'A2AError', 500],
  ] as const
  for (const [error, name, status] of family)
    test(`has ${name} with ${status}, caught as A2AError`, () => {
      expect(error).toBeInstanceOf(A2AError)
      expect(error.name).toBe(name)
      expect(statusCodeOf(error)).toBe(status)
    })

  test('takes in what a client throws, and keeps the origin', () => {
    const names = (code: ErrorCode) => toEvalError(new A2AError(code, 'words')).name
    expect(names('timeout')).toBe('A2ATimeoutError')
    expect(names('unauthenticated')).toBe('A2AAuthError')
    expect(names('forbidden')).toBe('A2AAuthError')
    expect(names('invalidParams')).toBe('A2AMessageError')
    expect(names('internal')).toBe('A2AError')
    const cause = new Error('socket')
    expect(toEvalError(cause)).toMatchObject({ name: 'A2AMessageError', message: 'socket', cause })
    const own = new A2ADiscoveryError('x')
    expect(toEvalError(own)).toBe(own)
  })
})

describe('whose fault it is', () => {
  const ends = (code: ErrorCode, status?: number) =>
    toSimulationFault(new A2AError(code, 'x'), status).termination

  test('follows from what came back', () => {
    expect(ends('unavailable')).toBe('infrastructure_error')
    expect(ends('unavailable', 200)).toBe('infrastructure_error')
    expect(ends('internal', 502)).toBe('infrastructure_error')
    expect(ends('unauthenticated', 401)).toBe('infrastructure_error')
    expect(ends('rateLimited', 429)).toBe('infrastructure_error')
    expect(ends('internal', 200)).toBe('agent_error')
    expect(ends('internal', 500)).toBe('agent_error')
    expect(ends('invalidAgentResponse', 200)).toBe('agent_error')
    expect(ends('timeout')).toBe('timeout')
  })
})
