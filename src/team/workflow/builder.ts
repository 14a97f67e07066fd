import type { BranchCase, Step } from '../step-config.ts'
import type { Flow, FlowSteps } from './flow.ts'
import type { FlowState } from './state.ts'

/** A workflow without steps, to be said. */
export function startFlow<At extends FlowState>(): Flow<At> {
  return toFlow(new FlowBuilder([]))
}

/** Only the compiler sees the types of results: the rules of a step are the same functions either way. */
function toFlow<At extends FlowState>(builder: FlowBuilder): Flow<At> {
  const flow: unknown = builder
  return flow as Flow<At> // it has these methods, and what they are given has been checked by their types
}

/** Makes steps that begin with none. */
type MakeSteps = (flow: unknown) => FlowSteps

type Fields = Readonly<Record<string, unknown>>

/** Collects steps. Each call gives another one: what has been said stays as it is. */
class FlowBuilder implements FlowSteps {
  readonly steps: readonly Step[]

  constructor(steps: readonly Step[]) {
    this.steps = steps
  }

  step(name: string, rules: Fields): FlowBuilder {
    return this.#with({ ...rules, name })
  }

  parallel(name: string, branches: readonly MakeSteps[], rules: Fields = {}): FlowBuilder {
    return this.#with({ ...rules, name, parallel: branches.map(toBranch) })
  }

  branch(
    name: string,
    cases: (on: CasesBuilder) => { readonly cases: readonly BranchCase[] },
    rules: Fields = {},
  ): FlowBuilder {
    return this.#with({ ...rules, name, branch: cases(new CasesBuilder([])).cases })
  }

  loop(name: string, make: MakeSteps, { until, maxIterations, ...rules }: Fields): FlowBuilder {
    return this.#with({ ...rules, name, loop: { steps: made(make), until, maxIterations } })
  }

  map(
    name: string,
    { when, steps, ...rules }: Fields & { readonly steps?: MakeSteps },
  ): FlowBuilder {
    const map = { ...rules, ...(steps && { steps: made(steps) }) }
    return this.#with({ name, map, ...(when !== undefined && { when }) })
  }

  approval({ when, ...approval }: Fields): FlowBuilder {
    return this.#with({ approval, ...(when !== undefined && { when }) })
  }

  #with(step: Fields): FlowBuilder {
    const said: unknown = step
    return new FlowBuilder([...this.steps, said as Step]) // of this shape, or refused where the team is made
  }
}

class CasesBuilder {
  readonly cases: readonly BranchCase[]

  constructor(cases: readonly BranchCase[]) {
    this.cases = cases
  }

  when(when: NonNullable<BranchCase['when']>, make: MakeSteps): CasesBuilder {
    return new CasesBuilder([...this.cases, { when, steps: made(make) }])
  }

  otherwise(make: MakeSteps): CasesBuilder {
    return new CasesBuilder([...this.cases, { steps: made(make) }])
  }
}

function made(make: MakeSteps): readonly Step[] {
  return make(startFlow()).steps
}

/** A branch of parallel steps is one step: several go into one that always runs. */
function toBranch(make: MakeSteps): Step {
  const steps = made(make)
  const [first] = steps
  return first && steps.length === 1 ? first : { branch: [{ steps }] }
}
