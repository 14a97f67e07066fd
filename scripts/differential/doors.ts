import { Generator } from './generate.ts'
import { type Setup, Sides } from './sides.ts'

/** How the requests are divided among the kinds of servers. */
const shares: Readonly<Record<string, number>> = {
  open: 0.55,
  keyed: 0.3,
  plain: 0.1,
  limited: 0.05,
}

/** A server is started anew after so many requests: a difference that follows from an earlier one does not go on for ever. */
const perServer = 5_000

/** Every so many requests: the names of the metrics, and bytes that are hardly a request. */
const metricsEvery = 250
const garbageEvery = 60

/** Plays generated requests to both builds, over every door. */
export async function compareDoors(setup: Setup): Promise<void> {
  const { requests, seed, progress } = setup
  let done = 0
  for (const [kind, share] of Object.entries(shares)) {
    const wanted = Math.ceil(requests * share)
    for (let at = 0; at < wanted; at += perServer) {
      const count = Math.min(perServer, wanted - at)
      await playTo(setup, { kind, count, seed: seed * 1_000 + at }, (now) =>
        progress('doors', done + now, requests),
      )
      done += count
    }
  }
}

interface Part {
  readonly kind: string
  readonly count: number
  readonly seed: number
}

async function playTo(
  setup: Setup,
  { kind, count, seed }: Part,
  tell: (now: number) => void,
): Promise<void> {
  const area = `doors: ${kind}`
  const generator = new Generator(seed, kind)
  const sides = await Sides.start(area, setup, { kind })
  setup.ledger.of(area).cases++
  try {
    for (let i = 0; i < count; i++) {
      if (i % metricsEvery === metricsEvery - 1) await compareMetrics(area, sides)
      if (i % garbageEvery === garbageEvery - 1) await sides.throwAt(area, generator.garbage())
      generator.learn(await sides.ask(area, generator.next()))
      tell(i)
    }
    await sides.drain()
    await sides.compareDeliveries(area)
  } finally {
    await sides.stop()
  }
}

/** Names, labels and their order; how often and how long differs between any two runs. */
async function compareMetrics(area: string, sides: Sides): Promise<void> {
  const headers = [['X-API-Key', 'key-boss']] as const
  await sides.askShortened(area, { method: 'GET', target: '/metrics', headers }, (body) =>
    body.replace(/ [-+.\dNaInfe]+$/gm, ''),
  )
}
