/**
 * Measures how the processor's time grows with a stranger's text: each entrance gets 64 KB and 256 KB of one character
 * between two others. Prints a line of JSON for each, with the character and the growth where that is too fast.
 */
import { createDoors, type Entrance } from './doors.ts'
import { readers } from './readers.ts'

const characters = ['a', ' ', '.', '!', '/', '\n', '"', '[', '%', ',', ';', '='] as const
const [small, large] = [64 * 1024, 256 * 1024]

/** Four times the text may take eight times the time: between a line and a square. */
const limit = 8

/** Below this a measurement says more about the machine than about the work. */
const floorMs = 5

/** Beyond this nobody needs a second look. */
const slowMs = 1_000

const entrances: Readonly<Record<string, Entrance>> = {
  ...(await createDoors()),
  ...readers,
  square,
}
for (const [name, entrance] of Object.entries(entrances)) {
  const fast = await fastest(entrance)
  console.log(JSON.stringify({ name, ...fast }))
}
process.exit(0)

/** What this must find. */
function square(text: string): number {
  let sum = 0
  for (let i = 0; i < text.length; i += 16) for (let j = 0; j < text.length; j += 16) sum += i ^ j
  return sum
}

/** The first character with which an entrance grows too fast, if there is one. */
async function fastest(
  entrance: Entrance,
): Promise<{ character: string; growth: number } | undefined> {
  for (const character of characters) {
    const growth = await growthOf(entrance, character)
    if (growth >= limit) return { character, growth: Math.round(growth) }
  }
  return undefined
}

/** The best of three: what else the machine does only ever makes it worse. */
async function growthOf(entrance: Entrance, character: string): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3 && best >= limit; attempt++) {
    const before = await costOf(entrance, `a${character.repeat(small)}b`)
    // A square would take minutes for the large text; the small one then tells as much.
    if (before > slowMs)
      return before / (await costOf(entrance, `a${character.repeat(small / 4)}b`))
    const after = await costOf(entrance, `a${character.repeat(large)}b`)
    best = Math.min(best, after / Math.max(before, floorMs))
  }
  return best
}

async function costOf(entrance: Entrance, text: string): Promise<number> {
  const begin = process.cpuUsage()
  try {
    await entrance(text)
  } catch {
    // A refusal costs what it costs.
  }
  const { user, system } = process.cpuUsage(begin)
  return (user + system) / 1000
}
