import type { Part } from '../../../protocol/types.ts'
import { delegateAll } from '../../delegate.ts'
import { replyParts } from '../../reply.ts'
import { answered, type Run, toMember } from '../../run.ts'
import type { MemberReply } from '../scheduler.ts'
import { runStep } from './list.ts'
import type { PlannedStep, StepAnswer, StepPlace } from './place.ts'
import { Results } from './results.ts'

/** Makes one answer of the answers of parallel steps, which stand under headings where it begins. */
export type PlannedJoin = (place: StepPlace) => StepAnswer

/** Several steps get the same question at once. */
export async function runParallel(
  branches: readonly PlannedStep[],
  join: PlannedJoin | undefined,
  place: StepPlace,
): StepAnswer {
  const works = branches.map(
    (branch, index) => (run: Run) => runBranch(branch, index, { ...place, run }),
  )
  const ended = await delegateAll(place.run, works)
  const parts: Part[] = []
  for (const { title, reply, results } of ended) {
    place.known.results.takeFrom(results)
    if (reply) parts.push({ text: `${title}:\n` }, ...replyParts(reply), { text: '\n\n' })
  }
  if (parts.length === 0) return undefined
  const { run } = place
  const previous = answered(run, parts.slice(0, -1))
  if (!join) return previous
  const input = toMember(run, replyParts(previous))
  const known = { ...place.known, untold: '' }
  return join({ ...place, name: `${place.name}.join`, input, previous, known })
}

interface Ended {
  readonly title: string
  readonly reply: MemberReply | undefined
  readonly results: Results
}

async function runBranch(branch: PlannedStep, index: number, place: StepPlace): Promise<Ended> {
  const { run, known } = place
  const results = new Results(known.results)
  const name = `${place.name}.${index + 1}`
  const reply = await runStep(branch, { ...place, name, last: false, known: { ...known, results } })
  return { title: branch.title(run), reply, results }
}
