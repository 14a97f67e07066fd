import { createRandom } from '../../durability/random.ts'
import { doors, type Exchange, planted } from './doors.ts'
import { type Measured, openSubject, type Subject } from './exchange.ts'
import { type Genome, grow, mutate, sizeOf } from './genome.ts'

/** How long is searched, and where. */
export interface HuntOptions {
  readonly seconds: number
  readonly seed: number
  readonly store?: 'memory' | 'sqlite'
  /** The name of one door, or the beginning of several. */
  readonly door?: string | undefined
  /** Inputs that are tried first. */
  readonly corpus?: readonly Found['input'][]
  /** The most bytes of one input, about; 2,000,000 if absent. A server reads ten megabytes. */
  readonly maxSize?: number
  /** Ends the search with so many breaches. */
  readonly until?: number
}

/** An input and the tick that it makes. */
export interface Found extends Measured {
  readonly input: { readonly door: string; readonly exchange: Exchange }
}

/** What a search has found. */
export interface Hunted {
  readonly tried: number
  /** The worst input of each door, the worst of all first. */
  readonly worst: readonly Found[]
  /** Those that hold the loop longer than they may, measured several times. */
  readonly breaches: readonly Found[]
  /** Those that the server answered with an error of its own. */
  readonly faults: readonly Found[]
}

/** Inputs of a door from which others are made. */
const kept = 5

/** How often a breach is measured before it is one: what else the machine does only ever makes it worse. */
const tries = 6

/** Looks for the input that holds the loop longest, by what JSON takes for as many bytes. */
export async function hunt(options: HuntOptions): Promise<Hunted> {
  const { seconds, seed, door, corpus = [], maxSize = 2_000_000, until = Infinity } = options
  const random = createRandom(seed)
  const names = Object.keys(doors).filter((name) =>
    door === undefined ? name !== planted : name.startsWith(door),
  )
  const best = new Map<string, Found[]>(names.map((name) => [name, []]))
  const breaches = new Map<string, Found>()
  const faults: Found[] = []
  const subject = await openSubject(options.store)
  let tried = 0

  async function attempt(input: Found['input']): Promise<void> {
    tried++
    const measured = await subject.measure(input.exchange, { tries })
    const found = { input, ...measured }
    if (found.isFault) faults.push(found)
    const list = best.get(input.door) ?? []
    list.push(found)
    list.sort((a, b) => fitness(b) - fitness(a))
    list.length = Math.min(list.length, kept)
    best.set(input.door, list)
    if (found.tickMs <= found.barMs) return
    const worse = breaches.get(input.door)
    if (!worse || ratioOf(worse) < ratioOf(found)) breaches.set(input.door, found)
  }

  try {
    await warm(subject, names)
    for (const input of corpus) if (names.includes(input.door)) await attempt(input)
    for (const name of names) await attempt({ door: name, exchange: doors[name] as Exchange })
    const end = performance.now() + seconds * 1_000
    // Each place of each input is grown in turn, from another one on in each search; every other input is bred.
    const first = random.between(0, 1_000)
    for (let turn = 0; performance.now() < end && breaches.size < until; turn++) {
      const name = names[(first + (turn >> 1)) % names.length] as string
      const exchange =
        turn % 2 === 0
          ? fromGenome(
              grow(toGenome(doors[name] as Exchange), first + Math.floor(turn / 2 / names.length)),
            )
          : descend(random, best.get(name) ?? [], name)
      if (sizeOf(toGenome(exchange)) <= maxSize) await attempt({ door: name, exchange })
    }
  } finally {
    await subject.close()
  }
  const worst = [...best.values()].flatMap(([first]) => first ?? [])
  return {
    tried,
    worst: worst.sort((a, b) => ratioOf(b) - ratioOf(a)),
    breaches: [...breaches.values()].sort((a, b) => ratioOf(b) - ratioOf(a)),
    faults,
  }
}

/** How near a tick is to its bar, or how far beyond. */
function ratioOf({ tickMs, barMs }: Measured): number {
  return tickMs / barMs
}

/** What was found, in a line. */
export function toLine(found: Found): string {
  const { input, bytes, tickMs, barMs, answer } = found
  const figures = `${tickMs.toFixed(1)} ms of ${barMs.toFixed(1)} ms (${ratioOf(found).toFixed(2)})`
  return `${input.door.padEnd(28)} ${String(bytes).padStart(9)} bytes  ${figures}  ${answer}`
}

/**
 * The nearer to the bar the better; below a tenth of it, where the bar is the same for all, what takes most time per byte
 * leads further.
 */
function fitness(found: Measured): number {
  return ratioOf(found) + Math.min(0.1, found.tickMs / Math.max(1_000, found.bytes))
}

/** Code that has not run yet is slow. */
async function warm(subject: Subject, names: readonly string[]): Promise<void> {
  for (let round = 0; round < 5; round++)
    for (const name of names) await subject.measure(doors[name] as Exchange)
}

function descend(
  random: ReturnType<typeof createRandom>,
  parents: readonly Found[],
  name: string,
): Exchange {
  const parent =
    parents.length > 0 ? random.pick(parents).input.exchange : (doors[name] as Exchange)
  const others = [parent, random.pick(Object.values(doors))].map(toGenome)
  let genome = toGenome(parent)
  for (let i = random.between(1, 3); i > 0; i--) genome = mutate(genome, random, others)
  return fromGenome(genome)
}

function toGenome(exchange: Exchange): Genome {
  return { ...exchange } as Genome // all of its fields are
}

/** What a mutation made of the fields that must stay what they are is put right. */
function fromGenome(genome: Genome): Exchange {
  const { path = '/', headers, method, ...rest } = Object(genome)
  const isFields = typeof headers === 'object' && headers !== null && !Array.isArray(headers)
  return {
    ...rest,
    path,
    ...(typeof method === 'string' && /^[A-Z]+$/.test(method) && { method }),
    ...(isFields && { headers }),
  }
}
