import { expect, test } from 'vitest'
import { tortureReplicas } from '../../test/durability/replicas/matrix.ts'
import { describePostgres } from '../../test/support/postgres.ts'

describePostgres('three replicas behind a load balancer', () => {
  test('one of which is struck at every point of its work, twice, lose nothing that they acknowledged', async () => {
    const { violations, deadLetters, audit, blows, points, counts, reconnects } =
      await tortureReplicas({ replicas: 3, kills: 42, seed: 16 })
    expect(violations).toEqual([])
    expect(deadLetters).toBe(0)
    expect(audit.innocentFailed).toBe(0)
    expect(blows).toEqual({ SIGKILL: 14, SIGSTOP: 14, SIGTERM: 14 })
    expect(new Set(Object.values(points))).toEqual(new Set([6]))
    // Without these the blows would have proved nothing.
    expect(counts.acknowledged).toBeGreaterThan(200)
    expect(counts.answers).toBeGreaterThan(0)
    expect(counts.cancels).toBeGreaterThan(0)
    expect(reconnects).toBeGreaterThan(0)
    expect(audit.claims).toBeGreaterThan(20)
    expect(audit.stepsInterrupted).toBeGreaterThan(0)
    expect(audit.webhookEvents).toBeGreaterThan(0)
  })
})
