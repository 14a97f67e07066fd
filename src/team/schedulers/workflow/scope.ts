import type { Json } from '../../../protocol/types.ts'
import { replyParts } from '../../reply.ts'
import type { StepResult, StepScope } from '../../step-config.ts'
import { toStepResult } from '../result.ts'
import type { StepPlace } from './place.ts'
import type { Results } from './results.ts'

/** What a rule sees at a place. A class with accessors: most rules look at one or two of these. */
export class PlaceScope<Context> implements Omit<StepScope, 'context'> {
  readonly #place: StepPlace
  readonly #names: readonly string[]
  #feedbackIsRead = false
  readonly context: Context

  /** Of the steps, it has those of these names. */
  constructor(place: StepPlace, names: readonly string[], context: Context) {
    this.#place = place
    this.#names = names
    this.context = context
  }

  get question(): StepResult {
    return toStepResult(this.#place.run.memory.message.parts)
  }
  get previous(): StepResult {
    return toStepResult(this.#place.input.parts)
  }
  get steps(): Readonly<Record<string, StepResult>> {
    const steps: Record<string, StepResult> = Object.create(null)
    const { results } = this.#place.known
    for (const name of this.#names) steps[name] = resultOf(results, name)
    return steps
  }
  get feedback(): string {
    this.#feedbackIsRead = true
    return this.#place.known.feedback
  }
  get item(): Json {
    return this.#place.known.item ?? null
  }
  get round(): number {
    return this.#place.known.round ?? 0
  }

  /** Whether somebody has looked at the feedback. */
  get feedbackIsRead(): boolean {
    return this.#feedbackIsRead
  }
}

const nothing: StepResult = { text: '', data: undefined }

function resultOf(results: Results, name: string): StepResult {
  const reply = results.get(name)
  return reply ? toStepResult(replyParts(reply)) : nothing
}
