import { availableParallelism, loadavg } from 'node:os'
import { expect } from 'vitest'
import { besiege, type SiegeOptions } from './siege.ts'

/** Besieges a server for a short while: it counts what was refused and answered, not how long it took. */
export async function mustHold(store: SiegeOptions['store']): Promise<void> {
  const { survived, lastWords, attacks, honest, peakRssMb } = await besiege({
    seconds: 14 * slowness(),
    store,
    scale: 0.1,
  })
  expect(lastWords).toBe('')
  expect(survived).toBe(true)
  const refused = attacks.flatMap(({ name, outcomes }) =>
    Object.keys(outcomes)
      .filter((outcome) => /^(408|413|429|431|503)/.test(outcome))
      .map((outcome) => `${name} ${outcome}`),
  )
  expect(refused).toContain('oversized bodies 413')
  expect(refused).toContain('header bombs 431')
  for (const { name, outcomes, wrong } of attacks)
    expect(
      wrong.filter((reason) => !reason.startsWith('never')),
      `${name}: ${JSON.stringify(outcomes)}`,
    ).toEqual([])
  expect(honest.failures).toEqual([])
  expect(honest.calls).toBeGreaterThan(50)
  expect(peakRssMb).toBeLessThan(900)
}

/** How much longer the same takes beside other work: an attack that has no time to be answered proves nothing. */
function slowness(): number {
  const [load = 0] = loadavg()
  return Math.min(5, Math.max(1, Math.ceil(load / availableParallelism())))
}
