import { replyParts } from '../../reply.ts'
import { toMember, traceOnce } from '../../run.ts'
import { type ApprovalRules, Feedback, Refusal } from '../approval.ts'
import type { MemberReply } from '../scheduler.ts'
import type { Known, PlannedStep, StepAnswer, StepPlace } from './place.ts'

/** Runs steps one after another: the answer of each is what the next one gets. */
export function runList(steps: readonly PlannedStep[], start: StepPlace): StepAnswer {
  return new ListRun(steps, start).run()
}

/** Runs a step, unless its rules leave it out; one that feedback goes to runs whatever they say. */
export function runStep(step: PlannedStep, place: StepPlace, always = false): StepAnswer {
  // Most steps say no more than who answers, and a promise is not free.
  if (step.applies === undefined && step.name === undefined) return step.run(place)
  return runWithRules(step, place, always)
}

async function runWithRules(step: PlannedStep, place: StepPlace, always: boolean): StepAnswer {
  if (step.applies && !always) {
    const applies = step.applies(place)
    if (!(typeof applies === 'boolean' ? applies : await applies)) {
      const { run, name } = place
      traceOnce(run, `${name}?skip`, { type: 'skip', team: run.config.id, step: name })
      return undefined
    }
  }
  const answer = await step.run(place)
  if (answer && step.name !== undefined) place.known.results.set(step.name, answer)
  return answer
}

/** Where a list was before a step that feedback may go to. */
interface Before {
  readonly index: number
  readonly input: StepPlace['input']
  readonly previous: MemberReply | undefined
}

/** One run through a list. Feedback goes back in it as often as the approval allows; each pass has names of its own. */
class ListRun {
  readonly #steps: readonly PlannedStep[]
  readonly #start: StepPlace
  #input: StepPlace['input']
  #previous: MemberReply | undefined
  #known: Known
  #pass = 1
  #before: Map<string, Before> | undefined
  #rounds: Map<ApprovalRules, number> | undefined

  constructor(steps: readonly PlannedStep[], start: StepPlace) {
    this.#steps = steps
    this.#start = start
    this.#input = start.input
    this.#previous = start.previous
    this.#known = start.known
  }

  async run(): StepAnswer {
    let target = -1
    for (let index = 0; index < this.#steps.length; index++) {
      const step = this.#steps[index]
      if (!step) break
      try {
        const answer = await runStep(step, this.#enter(step, index), index === target)
        if (answer) this.#follow(answer)
        if (answer || index === target) this.#told()
        target = -1
      } catch (thrown) {
        target = this.#goBack(thrown)
        index = target - 1
      }
    }
    return this.#previous === this.#start.previous ? undefined : this.#previous
  }

  #enter(step: PlannedStep, index: number): StepPlace {
    const { run, name, last } = this.#start
    const input = this.#input
    const previous = this.#previous
    if (step.name !== undefined) {
      this.#before ??= new Map()
      this.#before.set(step.name, { index, input, previous })
    }
    return {
      run,
      name: this.#pass === 1 ? `${name}${index + 1}` : `${name}${index + 1}@${this.#pass}`,
      input,
      previous,
      last: last && index === this.#steps.length - 1,
      known: this.#known,
    }
  }

  #follow(answer: MemberReply): void {
    this.#previous = answer
    this.#input = toMember(this.#start.run, replyParts(answer))
  }

  /** The step that feedback went to has it; those after it go on without. */
  #told(): void {
    const { known } = this.#start
    if (this.#known.untold === '' && this.#known.feedback === known.feedback) return
    this.#known = known.untold === '' ? known : { ...known, untold: '' }
  }

  /** Goes back to the step that feedback goes to, where it is one of this list, and gives its index. */
  #goBack(thrown: unknown): number {
    if (!(thrown instanceof Feedback)) throw thrown
    const { approval, text } = thrown
    const before = this.#before?.get(approval.target ?? '')
    if (!before) throw thrown
    this.#rounds ??= new Map()
    const round = (this.#rounds.get(approval) ?? 0) + 1
    const { maxRounds } = approval
    if (round > maxRounds) {
      const times = maxRounds === 1 ? 'one round' : `${maxRounds} rounds`
      throw new Refusal(`The user did not approve after ${times} of feedback`)
    }
    this.#rounds.set(approval, round)
    this.#pass++
    this.#input = before.input
    this.#previous = before.previous
    this.#known = { ...this.#start.known, feedback: text, untold: text }
    return before.index
  }
}
