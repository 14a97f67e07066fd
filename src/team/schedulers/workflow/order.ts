import type { Step } from '../../step-config.ts'

/** A step, and where its list has it. */
interface Placed {
  readonly step: Step
  readonly index: number
}

/** Steps in ascending `order`; one without it stands where the list has it. */
export function inOrder(steps: readonly Step[]): readonly Placed[] {
  return steps
    .map((step, index) => ({ step, index, order: step.order ?? index + 1 }))
    .sort((a, b) => a.order - b.order)
}
