import { setTimeout } from 'node:timers/promises'
import { request } from 'undici'
import type { Ledger } from '../ledger.ts'
import type { ServerProcess } from '../process.ts'
import type { Random } from '../random.ts'
import type { Signs } from '../signs.ts'
import type { Fleet } from './fleet.ts'
import { type Moments, type Point, points } from './moments.ts'
import { type Blow, blows, type Strike } from './takeovers.ts'

/** What strikes are made with. */
export interface StrikeSurroundings {
  readonly fleet: Fleet
  readonly moments: Moments
  readonly signs: Signs
  readonly ledger: Ledger
  readonly random: Random
}

/** What was done. */
export interface Struck {
  readonly strikes: readonly Strike[]
  /** Kills of a replica that was just starting, besides. */
  readonly killsWhileStarting: number
  /** From each SIGTERM to the end of the process, in milliseconds. */
  readonly drains: readonly number[]
}

interface Cell {
  readonly blow: Blow
  readonly point: Point
}

const pauseMs = 3_000
/** How long it may take until a replica is where it is to be struck. */
const patienceMs = 120_000

/** Strikes so often, in rounds: in each, every kind of blow comes once at every point, in an order of its own. */
export async function strikeOften(
  around: StrikeSurroundings,
  kills: number,
  progress?: (kills: number) => void,
): Promise<Struck> {
  const { signs, random, ledger } = around
  const strikes: Strike[] = []
  const drains: number[] = []
  let killsWhileStarting = 0
  let round: Cell[] = []
  while (strikes.length < kills) {
    if (round.length === 0) round = shuffled(allCells, random)
    const cell = round.pop() ?? { blow: 'SIGKILL', point: 'step' }
    const enough = signs.after(random.between(10, random.pick([40, 150])))
    await Promise.race([enough, setTimeout(3_000)])
    const victim = await victimAt(around, cell.point)
    if (victim === undefined) {
      ledger.violation(`No replica came to the point ${cell.point}`)
      return { strikes, killsWhileStarting, drains }
    }
    const { strike, isTwice, drain } = await blow(around, cell, victim)
    strikes.push(strike)
    if (isTwice) killsWhileStarting++
    if (drain !== undefined) drains.push(drain)
    progress?.(strikes.length)
  }
  return { strikes, killsWhileStarting, drains }
}

const allCells: readonly Cell[] = points.flatMap((point) => blows.map((blow) => ({ blow, point })))

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, place: random.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item)
}

/** The replica that is at a point now. What is sent to it just then is given a moment to arrive. */
async function victimAt(
  { moments, random }: StrikeSurroundings,
  point: Point,
): Promise<number | undefined> {
  const giveUp = new AbortController()
  const patience = setTimeout(patienceMs, undefined, { signal: giveUp.signal }).catch(() => {})
  const victim = await Promise.race([moments.next(point), patience])
  giveUp.abort()
  if (point === 'birth' || point === 'cancel') await setTimeout(random.between(0, 6))
  return victim ?? undefined
}

interface Outcome {
  readonly strike: Strike
  readonly isTwice: boolean
  readonly drain?: number
}

async function blow(
  around: StrikeSurroundings,
  { blow, point }: Cell,
  victim: number,
): Promise<Outcome> {
  const { fleet, ledger, random } = around
  const server = fleet.replicas[victim]
  if (!server) throw new Error(`There is no replica ${victim}`)
  const streams = ledger.followers
    .filter(({ id, holder }) => holder !== victim && fleet.runnerOf(id) === victim)
    .map((follower) => ({ follower, connection: follower.connections }))
  const strike: Strike = { blow, point, at: Date.now(), streams }
  fleet.struck()
  if (blow === 'SIGSTOP') {
    server.pause()
    await setTimeout(pauseMs)
    server.resume()
    await answers(server)
    return { strike, isTwice: false }
  }
  const code = blow === 'SIGTERM' ? await server.stop() : await server.kill()
  const drain = Date.now() - strike.at
  if (blow === 'SIGTERM' && code !== 0) ledger.violation(`A stop ended with ${code}`)
  await setTimeout(random.between(0, 1_500))
  const isTwice = random.chance(0.1)
  if (isTwice) await server.startAndKill(random.between(20, 1_000))
  await server.start()
  return { strike, isTwice, ...(blow === 'SIGTERM' && { drain }) }
}

/** Resolves when a replica answers again. */
async function answers(server: ServerProcess): Promise<void> {
  const { body } = await request(`${server.url()}/health?live=1`)
  await body.dump()
}
