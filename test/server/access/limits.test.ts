import { describe, expect, test } from 'vitest'
import { resolveLimits, resolveRateLimit } from '../../../src/server/access/limits.ts'

const mib = 1024 * 1024

describe('limits', () => {
  test('in bytes are their defaults on a large heap', () => {
    const { maxInflightBodyBytes, maxQueuedBytes, memoryStoreBytes } = resolveLimits({}, 8192 * mib)
    expect([maxInflightBodyBytes, maxQueuedBytes, memoryStoreBytes]).toEqual([
      64 * mib,
      128 * mib,
      256 * mib,
    ])
  })

  test('in bytes are a share of a small heap', () => {
    const { maxInflightBodyBytes, maxQueuedBytes, memoryStoreBytes } = resolveLimits({}, 512 * mib)
    expect([maxInflightBodyBytes, maxQueuedBytes, memoryStoreBytes]).toEqual([
      32 * mib,
      64 * mib,
      128 * mib,
    ])
  })

  test('that are given hold, whatever the heap', () => {
    expect(resolveLimits({ limits: { maxQueuedBytes: 7 } }, 1).maxQueuedBytes).toBe(7)
  })

  test('may have their old names', () => {
    const { maxConcurrentTurns, maxBodyBytes } = resolveLimits({ concurrency: 3, maxBodyBytes: 4 })
    expect([maxConcurrentTurns, maxBodyBytes]).toEqual([3, 4])
    expect(resolveRateLimit({ rateLimit: { requests: 5 } })).toEqual({ requests: 5 })
    expect(resolveRateLimit({ limits: { requests: 5, windowSeconds: 2 } })).toEqual({
      requests: 5,
      windowSeconds: 2,
    })
    expect(resolveRateLimit({})).toBeUndefined()
  })

  test('may not have two values', () => {
    expect(() => resolveLimits({ concurrency: 3, limits: { maxConcurrentTurns: 4 } })).toThrow(
      'concurrency says 3 and limits says 4: give one of them',
    )
    expect(() => resolveRateLimit({ rateLimit: { requests: 1 }, limits: { requests: 2 } })).toThrow(
      'rateLimit.requests says 1 and limits says 2: give one of them',
    )
    expect(resolveLimits({ concurrency: 3, limits: { maxConcurrentTurns: 3 } })).toBeTruthy()
  })

  test.each([0, -1, 1.5, Number.NaN])('are whole numbers above 0, not %d', (value) => {
    expect(() => resolveLimits({ limits: { maxParts: value } })).toThrow(
      `limits.maxParts must be a whole number above 0, not ${value}`,
    )
  })
})
