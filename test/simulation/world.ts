import type { Clock } from '../../src/shared/clock.ts'
import { createRandom, type Random } from '../durability/random.ts'

/**
 * A world in which nothing happens by itself. Whatever is to happen stands in one queue by its moment; `step` lets the next
 * of it happen and waits until all that follows at once has run. Chance comes from one seed, so a run can be repeated.
 */
export interface World {
  readonly random: Random
  /** Milliseconds since the world began: the database's time. */
  now(): number
  /** Lets something happen after so long, to a process only while it lives and is awake. The returned function calls it off. */
  after(ms: number, happening: Happening): () => void
  /** Makes a process. */
  start(name: string): VirtualProcess
  /** Lets the next thing happen; false where nothing is to. */
  step(): Promise<boolean>
  /** How many things have happened. */
  readonly steps: number
  /** When the next thing is to happen; infinite where nothing is. */
  next(): number
  /** Told of all that happens, for whoever looks for the cause of a failure. */
  trace: ((line: string) => void) | undefined
}

/** Something that is to happen. */
export interface Happening {
  readonly what: string
  /** Whose it is; it never happens once that one is dead. */
  readonly process?: VirtualProcess
  happen(): void
}

/** A process of the world. */
export interface VirtualProcess {
  readonly name: string
  readonly alive: boolean
  /** Until when it stands still; in the past where it does not. */
  readonly pausedUntil: number
  /** Its own clock: even, but with a time of day of its own. */
  readonly clock: Clock
  /** Nothing more happens to it. */
  crash(): void
  /** Nothing happens to it for so long; the world goes on. */
  pause(ms: number): void
  /** Sets its time of day, back or forth. */
  setTime(ms: number): void
  /** Called when it crashes. */
  onCrash(callback: () => void): void
}

interface Due extends Happening {
  at: number
  /** When it was first to happen: what a pause has held back comes in its old order. */
  readonly first: number
  readonly order: number
  off: boolean
}

/** When the world began, in milliseconds since the epoch of clocks. */
export const epoch: number = Date.parse('2026-01-01T00:00:00Z')

/** Makes a world. */
export function createWorld(seed: number): World {
  const random = createRandom(seed)
  const queue = createHeap()
  let now = 0
  let order = 0
  let steps = 0

  const world: World = {
    random,
    trace: undefined,
    get steps() {
      return steps
    },
    now: () => now,
    next: () => queue.first()?.at ?? Number.POSITIVE_INFINITY,
    after(ms, happening) {
      const at = now + Math.max(0, ms)
      const due: Due = { ...happening, at, first: at, order: ++order, off: false }
      queue.add(due)
      return () => {
        due.off = true
      }
    },
    start: (name) => createProcess(world, name),
    async step() {
      for (let due = queue.take(); due; due = queue.take()) {
        const { process } = due
        if (due.off || process?.alive === false) continue
        now = Math.max(now, due.at)
        if (process && process.pausedUntil > now) {
          due.at = process.pausedUntil
          queue.add(due)
          continue
        }
        steps++
        world.trace?.(`${now.toFixed(2)} ${process ? `${process.name}: ` : ''}${due.what}`)
        due.happen()
        // Now and then something happens before all is done that waits for the end of a tick.
        await settled(random.chance(0.2) ? 1 : 3)
        return true
      }
      return false
    },
  }
  return world
}

/** Resolves when what follows at once has run: promises, and what waits for the end of a tick. */
export async function settled(ticks = 3): Promise<void> {
  for (let tick = 0; tick < ticks; tick++)
    await new Promise<void>((resolve) => setImmediate(resolve))
}

function createProcess(world: World, name: string): VirtualProcess {
  let alive = true
  let pausedUntil = Number.NEGATIVE_INFINITY
  let skew = 0
  const crashed: (() => void)[] = []
  const self: VirtualProcess = {
    name,
    get alive() {
      return alive
    },
    get pausedUntil() {
      return pausedUntil
    },
    clock: {
      now: () => Math.floor(epoch + world.now() + skew),
      elapsed: () => world.now(),
      after: (ms, happen) => world.after(ms, { what: `timer ${ms}`, process: self, happen }),
    },
    crash() {
      if (!alive) return
      alive = false
      for (const callback of crashed) callback()
    },
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, world.now() + ms)
    },
    setTime(ms) {
      skew = ms
    },
    onCrash(callback) {
      crashed.push(callback)
    },
  }
  return self
}

interface Heap {
  add(due: Due): void
  take(): Due | undefined
  first(): Due | undefined
}

function createHeap(): Heap {
  const items: Due[] = []
  const swap = (a: number, b: number): void => {
    const [one, other] = [items[a], items[b]]
    if (one && other) [items[a], items[b]] = [other, one]
  }
  const isLess = (a: number, b: number): boolean => {
    const [one, other] = [items[a], items[b]]
    return one !== undefined && other !== undefined && isBefore(one, other)
  }
  return {
    first: () => items[0],
    add(due) {
      let at = items.push(due) - 1
      for (let above = (at - 1) >> 1; at > 0 && isLess(at, above); above = (at - 1) >> 1) {
        swap(at, above)
        at = above
      }
    },
    take() {
      const first = items[0]
      const last = items.pop()
      if (!last || items.length === 0) return first
      items[0] = last
      for (let at = 0; ; ) {
        const [left, right] = [2 * at + 1, 2 * at + 2]
        const below = isLess(right, left) ? right : left
        if (!isLess(below, at)) return first
        swap(at, below)
        at = below
      }
    },
  }
}

function isBefore(a: Due, b: Due): boolean {
  if (a.at !== b.at) return a.at < b.at
  return a.first !== b.first ? a.first < b.first : a.order < b.order
}
