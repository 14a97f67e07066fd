import type { MemberHop } from '../logic/hops.ts'
import type { Scale } from '../logic/scale.ts'

/** What every zoom of the timeline draws from. */
export interface TimelineFacts {
  readonly hops: readonly MemberHop[]
  readonly slowest: MemberHop | undefined
  readonly scale: Scale
  /** The moment up to which is shown. */
  readonly moment: number
  /** Shows the task as of a record. */
  readonly seek: (seq: number) => void
}
