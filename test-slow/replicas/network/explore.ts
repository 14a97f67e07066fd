import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { type CutPoint, createMeter, type Meter } from './meter.ts'
import type { NetworkScenario } from './scenarios.ts'
import { leaseMs, openStage } from './stage.ts'

/**
 * The crash-point explorer, applied to the network. A scenario is run undisturbed to learn its messages, then once for each
 * message and each thing that a network can do to it. What the user sees must be right each time, and come in time.
 */
export interface NetworkFindings {
  /** How many points there are, and how many of them were reached: statements may be grouped differently in each run. */
  readonly points: number
  readonly reached: number
  readonly wrong: readonly string[]
}

/** Which points are explored. */
export interface Exploration {
  readonly url: string
  /** How often the scenario is run undisturbed: messages that only some runs have are found by several. */
  readonly rehearsals: number
  /** One of so many parts, counted from 1. A point is in the same part in every run, on every machine. */
  readonly part: number
  readonly parts: number
  /** Only points that match, to look at one again: `a beat 1, requests S1, blackhole`. */
  readonly only?: RegExp
  /** How many runs there are at once. */
  readonly atOnce: number
}

/** What a user may wait for the next event after something broke: the lease and a second. */
const promisedMs = leaseMs + 1_000

/** How often a point is tried until the message comes. */
const tries = 3

/** When a run that does not end is given up. */
const patienceMs = 60_000

/** Explores a scenario. */
export async function exploreNetwork(
  scenario: NetworkScenario,
  { url, rehearsals, part, parts, only = /./, atOnce }: Exploration,
): Promise<NetworkFindings> {
  const metronome = await startMetronome(url)
  try {
    const wrong: string[] = []
    const found = new Map<string, CutPoint>()
    for (let i = 0; i < rehearsals; i++) {
      const plain = createMeter()
      for (const one of await run(scenario, url, { meter: plain, metronome }))
        wrong.push(`undisturbed: ${one}`)
      for (const point of plain.points) found.set(`${point.message}, ${point.kind}`, point)
    }
    const points = [...found]
      .filter(([name]) => only.test(name) && partOf(`${scenario.name}: ${name}`, parts) === part)
      .map(([, point]) => point)
    const rest = points.values()
    let reached = 0
    const work = async (): Promise<void> => {
      for (const point of rest) {
        for (let i = 0; i < tries; i++) {
          const tried = await disturb(scenario, url, { point, metronome })
          for (const one of tried.wrong)
            wrong.push(`${scenario.name}: ${point.message}, ${point.kind}: ${one}`)
          if (!tried.isReached) continue
          reached += 1
          break
        }
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    return { points: points.length, reached, wrong }
  } finally {
    await metronome.stop()
  }
}

/** Names decide, so that the parts together are all points although each part finds the messages by itself. */
function partOf(name: string, parts: number): number {
  return (createHash('sha256').update(name).digest().readUInt32BE() % parts) + 1
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
