/** The locks of rows: one holder each. The others wait for it, in the order in which they came. */
export interface RowLocks {
  /** Locks rows in the order of their ids, as all statements do; resolves when the holder has all of them. */
  take(holder: object, ids: readonly string[]): Promise<void>
  /** Frees all that a holder has, and forgets what it waits for. */
  free(holder: object): void
  /** Whether another holder has a row: `SKIP LOCKED` passes it over. */
  isTaken(id: string, by: object | undefined): boolean
}

interface Waiting {
  readonly holder: object
  go(): void
}

/** Makes the locks of a database. */
export function createRowLocks(): RowLocks {
  const holders = new Map<string, object>()
  const waiting = new Map<string, Waiting[]>()

  function takeOne(holder: object, id: string): Promise<void> | undefined {
    const other = holders.get(id)
    if (other === undefined) holders.set(id, holder)
    if (other === undefined || other === holder) return undefined
    return new Promise((go) => {
      waiting.set(id, [...(waiting.get(id) ?? []), { holder, go }])
    })
  }

  function freeOne(id: string): void {
    const [next, ...rest] = waiting.get(id) ?? []
    if (rest.length > 0) waiting.set(id, rest)
    else waiting.delete(id)
    if (!next) holders.delete(id)
    else {
      holders.set(id, next.holder)
      next.go()
    }
  }

  return {
    async take(holder, ids) {
      for (const id of [...new Set(ids)].sort()) await takeOne(holder, id)
    },
    free(holder) {
      for (const [id, line] of waiting)
        waiting.set(
          id,
          line.filter((one) => one.holder !== holder),
        )
      for (const [id, owner] of holders) if (owner === holder) freeOne(id)
    },
    isTaken: (id, by) => {
      const holder = holders.get(id)
      return holder !== undefined && holder !== by
    },
  }
}
