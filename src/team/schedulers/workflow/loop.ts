import { replyParts } from '../../reply.ts'
import { toMember } from '../../run.ts'
import { runList } from './list.ts'
import type { PlannedStep, StepAnswer, StepPlace } from './place.ts'
import type { ReadyRule } from './rules.ts'

/** What is repeated, and until when. */
interface PlannedLoop {
  readonly steps: readonly PlannedStep[]
  readonly until: ReadyRule<boolean>
  readonly maxIterations: number
}

/** Steps are repeated, each round with the answer of the one before it. */
export async function runLoop(loop: PlannedLoop, place: StepPlace): StepAnswer {
  let here: StepPlace = { ...place, last: false }
  for (let round = 1; round <= loop.maxIterations; round++) {
    const { run, known } = here
    const name = `${place.name}#${round}`
    here = { ...here, known: { ...known, round, untold: round === 1 ? known.untold : '' } }
    const answer = await runList(loop.steps, { ...here, name: `${name}.` })
    if (!answer) break
    here = { ...here, previous: answer, input: toMember(run, replyParts(answer)) }
    const isOver = loop.until({ ...here, name })
    if (typeof isOver === 'boolean' ? isOver : await isOver) break
  }
  return here.previous === place.previous ? undefined : here.previous
}
