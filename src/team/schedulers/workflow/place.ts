import type { Json, Message } from '../../../protocol/types.ts'
import type { Run } from '../../run.ts'
import type { MemberReply } from '../scheduler.ts'
import type { Results } from './results.ts'

/** Where in the workflow a step stands. */
export interface StepPlace {
  readonly run: Run
  /** Unique within the run: `2`, `3.1`, `4#2.1`, `5[3].1`; the second pass of a list, after feedback, is `2@2`. */
  readonly name: string
  readonly input: Message
  /** The previous answer; none before the first step. */
  readonly previous: MemberReply | undefined
  /** Whether nothing follows, so that the member's words are the team's answer. */
  readonly last: boolean
  readonly known: Known
}

/** What the rules of a step see besides the question and the answer before it. */
export interface Known {
  readonly results: Results
  /** What the user said to an approval; empty otherwise. */
  readonly feedback: string
  /** Feedback that no member has been told yet. */
  readonly untold: string
  /** The item of the map around the step: several go on at once, and members see nothing of the others. */
  readonly item?: Json
  /** The round of the loop around the step. */
  readonly round?: number
}

/** The answer of a step; undefined when it was left out. */
export type StepAnswer = Promise<MemberReply | undefined>

/** A step that is ready to run: its rules are read, its steps within are planned. */
export interface PlannedStep {
  readonly name: string | undefined
  /** What its answer stands under beside those of parallel steps. */
  title(run: Run): string
  /** Whether it runs here; absent where it always does. */
  readonly applies: ((place: StepPlace) => boolean | Promise<boolean>) | undefined
  run(place: StepPlace): StepAnswer
}
