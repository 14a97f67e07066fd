/** One seed per trial, from the seed of the run: the same run has the same seeds. */
export function trialSeeds(seed: number, trials: number): readonly number[] {
  const next = mulberry32(seed)
  return Array.from({ length: trials }, () => Math.floor(next() * 2 ** 31))
}

/** A small generator of numbers in [0, 1) with 32 bits of state. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
