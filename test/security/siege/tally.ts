/** How often each thing happened to an attack, by a word for it: `413`, `200 -32602`, `closed`, `held`. */
export type Outcomes = Readonly<Record<string, number>>

/** Counts what happens. */
export interface Tally {
  count(outcome: string): void
  outcomes(): Outcomes
}

/** Makes an empty tally. */
export function createTally(): Tally {
  const counts: Record<string, number> = {}
  return {
    count(outcome) {
      counts[outcome] = (counts[outcome] ?? 0) + 1
    },
    outcomes: () => counts,
  }
}
