/** Something that takes a part of a commit. */
export interface Weighed {
  /** About how many bytes its writes will have. */
  readonly weight: number
  /** Whose they are: nobody's changes wait for all of another's. */
  readonly whose: string
}

/** About as much as one commit holds: whoever comes next waits for no more than this to be written. */
const maxCommitBytes = 2 * 1024 * 1024

/**
 * Takes what goes into the next commit out of what is dirty: all of it, mostly, and then the set itself is given. Where
 * that is too much, everybody gives one task at a time in turn, until the commit is full; what is left keeps its place.
 */
export function takeShare<T extends Weighed>(dirty: Set<T>): Set<T> {
  let weight = 0
  for (const source of dirty) weight += source.weight
  if (weight <= maxCommitBytes || dirty.size === 1) return dirty
  const share = new Set<T>()
  let left = maxCommitBytes
  for (const source of inTurn(dirty)) {
    if (left <= 0) break
    left -= source.weight
    share.add(source)
    dirty.delete(source)
  }
  return share
}

/** The first of everybody, in the order in which they came, then the second of those who have one, and so on. */
function* inTurn<T extends Weighed>(sources: Iterable<T>): Iterable<T> {
  const lines = new Map<string, T[]>()
  for (const source of sources) {
    const line = lines.get(source.whose)
    if (line) line.push(source)
    else lines.set(source.whose, [source])
  }
  for (let place = 0; lines.size > 0; place++)
    for (const [whose, line] of lines) {
      const source = line[place]
      if (source) yield source
      else lines.delete(whose)
    }
}
