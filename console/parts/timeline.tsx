import { useMemo } from 'preact/hooks'
import type { TaskRecord } from '../../src/console/api.ts'
import { type MemberHop, toHops, toOwnUses } from '../logic/hops.ts'
import { slowestOf } from '../logic/lanes.ts'
import { lastTime, workOf } from '../logic/replay.ts'
import type { Zoom } from '../logic/route.ts'
import { createScale } from '../logic/scale.ts'
import { now } from '../logic/state.ts'
import { Tabs } from './tabs.tsx'
import type { TimelineFacts } from './timeline-facts.ts'
import { TimelineHops } from './timeline-hops.tsx'
import { TimelineLanes } from './timeline-lanes.tsx'
import { TimelineRecords } from './timeline-records.tsx'

const zooms: readonly { readonly id: Zoom; readonly name: string }[] = [
  { id: 'lanes', name: 'Lanes' },
  { id: 'hops', name: 'Hops' },
  { id: 'records', name: 'Records' },
]

/** Who did what, when: lanes per member, a line per hop, or every record. */
export function Timeline(props: {
  readonly all: readonly TaskRecord[]
  readonly shown: readonly TaskRecord[]
  readonly zoom: Zoom
  readonly choose: (zoom: Zoom) => void
  readonly seek: (seq: number) => void
  readonly agent: string
}) {
  const { all, shown, zoom, seek, agent } = props
  const isWhole = shown.length === all.length
  const isOpen = useMemo(() => isAtWork(all), [all])
  // What runs grows with the time; what has ended is drawn once.
  const end = isOpen ? now.value : (lastTime(all) ?? now.value)
  const moment = isWhole ? end : (lastTime(shown) ?? end)
  const called = useMemo(() => toHops(all), [all])
  const everyHop = useMemo(
    () => (called.length > 0 ? called : ownHops(all, agent, end)),
    [called, all, agent, end],
  )
  const hops = useMemo(() => {
    if (isWhole) return everyHop
    return called.length > 0 ? toHops(shown) : ownHops(shown, agent, moment)
  }, [everyHop, shown, moment])
  const scale = useMemo(
    () => createScale(everyHop.map(({ began, ended = end }) => ({ from: began, to: ended }))),
    [everyHop, end],
  )
  const facts: TimelineFacts = { hops, slowest: slowestOf(everyHop), scale, moment, seek }
  return (
    <section class="timeline">
      <Tabs label="Zoom" look="pills" tabs={zooms} chosen={zoom} choose={props.choose} />
      {zoom === 'lanes' && <TimelineLanes facts={facts} />}
      {zoom === 'hops' && <TimelineHops facts={facts} />}
      {zoom === 'records' && <TimelineRecords records={shown} seek={seek} />}
    </section>
  )
}

function isAtWork(records: readonly TaskRecord[]): boolean {
  return workOf(records, Number.POSITIVE_INFINITY).at(-1)?.to === Number.POSITIVE_INFINITY
}

/** An agent that calls nobody is one lane of its own: the stretches in which it worked. */
function ownHops(records: readonly TaskRecord[], agent: string, end: number): readonly MemberHop[] {
  const uses = toOwnUses(records)
  const spans = workOf(records, end)
  const { seq: lastSeq = 0 } = records.at(-1) ?? {}
  return spans.map(({ from, to }, i): MemberHop => {
    const mine = uses.filter(({ at }) => at >= from && at <= to)
    return {
      ...{ key: `${i}`, place: agent, parent: '', depth: 0, team: '', member: agent, step: '' },
      ...{ try: 1, began: from, ended: to, standing: 'done', question: '', answer: '' },
      ...{
        inputTokens: 0,
        outputTokens: 0,
        uses: mine,
        guards: [],
        firstSeq: records[0]?.seq ?? 0,
        lastSeq,
      },
    }
  })
}
