import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { type CutPoint, createMeter, type Meter } from './meter.ts'
import type { NetworkScenario } from './scenarios.ts'
import { leaseMs, openStage } from './stage.ts'

/**
 * The crash-point explorer, applied to the network. A scenario is run once to learn its messages, then once for each message
 * and each thing that a network can do to it. What the user sees must be right each time, and come in time.
 */
export interface NetworkFindings {
  /** How many points there are, and how many of them were reached: statements may be grouped otherwise in another run. */
  readonly points: number
  readonly reached: number
  readonly wrong: readonly string[]
}

/** Which points are explored. */
export interface Exploration {
  readonly url: string
  /** Each so many-th point, beginning with the one of this number. */
  readonly every: number
  readonly from?: number
  /** Only points that match, to look at one again: `a beat 1, requests S1, blackhole`. */
  readonly only?: RegExp
  /** How many runs there are at once. */
  readonly atOnce: number
}

/** What a user may wait for the next event after something broke: the lease and a second. */
const promisedMs = leaseMs + 1_000

/** When a run that does not end is given up. */
const patienceMs = 60_000

/** Explores a scenario. */
export async function exploreNetwork(
  scenario: NetworkScenario,
  { url, every, from = 0, only = /./, atOnce }: Exploration,
): Promise<NetworkFindings> {
  const metronome = await startMetronome(url)
  try {
    const plain = createMeter()
    const wrong = (await run(scenario, url, { meter: plain, metronome })).map(
      (one) => `undisturbed: ${one}`,
    )
    const points = plain.points
      .filter(({ message, kind }) => only.test(`${message}, ${kind}`))
      .filter((_, i) => i % every === from % every)
    const rest = points.values()
    let reached = 0
    const work = async (): Promise<void> => {
      for (const point of rest) {
        const tried = await disturb(scenario, url, { point, metronome })
        if (tried.isReached) reached += 1
        wrong.push(
          ...tried.wrong.map((one) => `${scenario.name}: ${point.message}, ${point.kind}: ${one}`),
        )
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    return { points: points.length, reached, wrong }
  } finally {
    await metronome.stop()
  }
}

interface Tried {
  readonly isReached: boolean
  readonly wrong: readonly string[]
}

async function disturb(
  scenario: NetworkScenario,
  url: string,
  { point, metronome }: { point: CutPoint; metronome: Metronome },
): Promise<Tried> {
  let hitAt: number | undefined
  const meter = createMeter(point, () => {
    hitAt = metronome.now()
  })
  const wrong = await run(scenario, url, { meter, metronome, since: () => hitAt })
  return { isReached: meter.isReached, wrong }
}

interface RunParts {
  readonly meter: Meter
  readonly metronome: Metronome
  /** When the network broke. */
  since?(): number | undefined
}

async function run(
  scenario: NetworkScenario,
  url: string,
  { meter, metronome, since = () => undefined }: RunParts,
): Promise<readonly string[]> {
  const play = scenario.play()
  let last = 0
  let longest = 0
  const progressed = (): void => {
    const [now, hitAt] = [metronome.now(), since()]
    if (hitAt !== undefined) longest = Math.max(longest, now - Math.max(last, hitAt))
    last = now
  }
  const stage = await openStage({ url, agent: play.agent, meter, progressed })
  meter.begin()
  const over = new AbortController()
  try {
    const patience = sleep(patienceMs, ['it never ended'], { signal: over.signal })
    patience.catch(() => {})
    const wrong = await Promise.race([play.talk(stage), patience])
    return longest <= promisedMs ? wrong : [...wrong, `nothing happened for ${longest} ms`]
  } catch (error) {
    return [String(error)]
  } finally {
    over.abort()
    await stage.close()
  }
}

/** Time that passes as slowly as the machine works: a promise in seconds holds for one that has them to give. */
interface Metronome {
  now(): number
  stop(): Promise<void>
}

const tickMs = 20

/** Each tick takes a timer and an answer of the database, like all that the replicas do; it counts as so many milliseconds. */
async function startMetronome(url: string): Promise<Metronome> {
  const client = new Client({ connectionString: url })
  await client.connect()
  let ticks = 0
  let isOver = false
  async function tick(): Promise<void> {
    while (!isOver) {
      await sleep(tickMs)
      await client.query('SELECT 1')
      ticks += 1
    }
  }
  const ticking = tick()
  return {
    now: () => ticks * tickMs,
    async stop() {
      isOver = true
      await ticking
      await client.end()
    },
  }
}
