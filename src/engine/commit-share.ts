/** Something that takes a part of a commit. */
export interface Weighed {
  /** About how many bytes its writes will have. */
  readonly weight: number
  /** Whose they are: nobody's changes wait for all of another's. */
  readonly whose: string
}

/** About as much as one commit holds beside the one change whose turn it is: nobody waits for more to be written. */
const maxCommitBytes = 512 * 1024

/** Whose turn was when is remembered of so many. */
const maxRemembered = 1_000

/**
 * Says what goes into the next commit. All that is dirty, mostly. Where that is too much, everybody has a turn with one
 * change, however large it is, and beside it go those of whom the least is taken, until the commit is full.
 */
export class CommitShares {
  /** In which commit everybody last had a turn. */
  readonly #turns = new Map<string, number>()
  #commits = 0

  /** Takes the next commit's out of what is dirty, or gives the set itself; what is left keeps its place. */
  take<T extends Weighed>(dirty: Set<T>): Set<T> {
    if (dirty.size === 1) return dirty
    let weight = 0
    for (const source of dirty) weight += source.weight
    if (weight <= maxCommitBytes) return dirty
    const share = new Set<T>()
    const first = this.#nextTurn(dirty)
    if (first) share.add(first)
    let left = maxCommitBytes
    for (const source of inFairOrder(dirty)) {
      if (share.has(source)) continue
      left -= source.weight
      if (left < 0) break
      share.add(source)
    }
    for (const source of share) dirty.delete(source)
    return share
  }

  /** The first change of whoever's last turn was the longest ago. */
  #nextTurn<T extends Weighed>(dirty: Iterable<T>): T | undefined {
    let next: T | undefined
    let lastTurn = Number.POSITIVE_INFINITY
    for (const source of dirty) {
      const turn = this.#turns.get(source.whose) ?? 0
      if (turn >= lastTurn) continue
      next = source
      lastTurn = turn
    }
    if (this.#turns.size >= maxRemembered) this.#turns.clear()
    if (next) this.#turns.set(next.whose, ++this.#commits)
    return next
  }
}

/** By how much is taken of everybody once it is: who brings little comes before who brings much. */
function inFairOrder<T extends Weighed>(sources: Iterable<T>): readonly T[] {
  const taken = new Map<string, number>()
  const placed: { readonly source: T; readonly after: number }[] = []
  for (const source of sources) {
    const after = (taken.get(source.whose) ?? 0) + source.weight
    taken.set(source.whose, after)
    placed.push({ source, after })
  }
  return placed.sort((a, b) => a.after - b.after).map(({ source }) => source)
}
