import type { Installed } from './place.ts'
import type { Side } from './side.ts'

/** A row of the comparison: the same question to both sides. */
export interface Cell {
  readonly name: string
  readonly question: string
  /** How it was found out, for whoever wants to repeat it. */
  readonly how: string
  run(place: Installed): Promise<Findings> | Findings
}

/** What each side did, in words. */
export type Findings = Readonly<Record<Side, string>>
