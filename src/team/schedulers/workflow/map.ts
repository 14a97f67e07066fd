import type { Json, Part } from '../../../protocol/types.ts'
import { replyParts } from '../../reply.ts'
import { answered, type Run, toMember, traceOnce } from '../../run.ts'
import { inBatches, toItems } from '../list.ts'
import { toStepResult } from '../result.ts'
import type { MemberReply } from '../scheduler.ts'
import type { MemberAsk } from './call.ts'
import { runList } from './list.ts'
import type { PlannedStep, StepAnswer, StepPlace } from './place.ts'
import { Results } from './results.ts'
import type { ReadyRule } from './rules.ts'

/** What is done for each item of a list. */
export interface PlannedMap {
  readonly each: MemberAsk | readonly PlannedStep[]
  /** The list; what the previous answer holds as one if absent. */
  readonly over: ReadyRule<readonly Json[]> | undefined
  readonly maxParallel: number
  /** Whether answers that are all data make one list of them. */
  readonly givesList: boolean
}

/** A member, or steps, answer once per item; the answers keep the items' order. */
export async function runMap(map: PlannedMap, place: StepPlace): StepAnswer {
  const { run } = place
  const items = map.over ? toItems([{ data: await map.over(place) }]) : toItems(place.input.parts)
  const step = place.name
  traceOnce(run, `${step}?map`, { type: 'map', team: run.config.id, step, items: items.length })
  const works = items.map(
    (item, index) => (group: Run) =>
      runItem(map.each, item, { ...place, run: group, name: `${place.name}[${index + 1}]` }),
  )
  const replies = (await inBatches(run, works, map.maxParallel)).flatMap((reply) => reply ?? [])
  const list = map.givesList ? dataList(replies) : undefined
  if (list) return answered(run, [{ data: list, mediaType: 'application/json' }])
  const parts = replies.flatMap((reply) => [...replyParts(reply), { text: '\n' }])
  return answered(run, parts.slice(0, -1))
}

async function runItem(each: PlannedMap['each'], part: Part, place: StepPlace): StepAnswer {
  const { run } = place
  const item = 'data' in part ? part.data : 'text' in part ? part.text : null
  const known = { ...place.known, item, results: new Results(place.known.results) }
  const here = { ...place, input: toMember(run, [part]), last: false, known }
  if ('ask' in each) return each.ask(here, { alone: true })
  // The item stands where an answer would: whoever gets it does not speak with the caller.
  const previous = answered(run, [part])
  const answer = await runList(each, { ...here, name: `${place.name}.`, previous })
  return answer ?? previous
}

function dataList(replies: readonly MemberReply[]): Json | undefined {
  const list: Json[] = []
  for (const reply of replies) {
    const { data } = toStepResult(replyParts(reply))
    if (data === undefined) return undefined
    list.push(data)
  }
  return list
}
