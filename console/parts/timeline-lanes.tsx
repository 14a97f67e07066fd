import type { MemberHop } from '../logic/hops.ts'
import { durationOf, type Lane, toLanes } from '../logic/lanes.ts'
import type { Scale } from '../logic/scale.ts'
import { colourOf, duration, firstWords, memberName } from '../logic/words.ts'
import { MemberDot } from './chips.tsx'
import { Empty } from './empty.tsx'
import type { TimelineFacts } from './timeline-facts.ts'

/** A lane per member, nested teams' members beneath the team. */
export function TimelineLanes({ facts }: { readonly facts: TimelineFacts }) {
  const { hops, scale, moment } = facts
  const lanes = toLanes(hops, moment)
  if (lanes.length === 0)
    return (
      <Empty title="Nobody has worked yet.">
        <p>Move the slider on, or look at every record.</p>
      </Empty>
    )
  return (
    <div class="panel lanes">
      <Axis scale={scale} />
      {lanes.map((lane) => (
        <LaneRow key={lane.key} lane={lane} facts={facts} />
      ))}
    </div>
  )
}

function Axis({ scale }: { readonly scale: Scale }) {
  return (
    <div class="lane axis" aria-hidden="true">
      <span />
      <span class="track">
        {scale.ticks(innerWidth < 720 ? 3 : 6).map(({ at, workMs }) => (
          <span key={workMs} class="tick" style={{ left: percent(at) }}>
            {workMs === 0 ? '0 s' : duration(workMs)}
          </span>
        ))}
      </span>
      <span />
    </div>
  )
}

function LaneRow({ lane, facts }: { readonly lane: Lane; readonly facts: TimelineFacts }) {
  const { scale, moment } = facts
  return (
    <div class={`lane depth-${Math.min(lane.depth, 4)}`}>
      <span class="who">
        <MemberDot id={lane.member} />
        <span class="clip">{memberName(lane.member)}</span>
      </span>
      <span class="track">
        {scale.gaps.map(({ from, to, left, right }) => (
          <span
            key={from}
            class="gap"
            style={{ left: percent(left), width: percent(right - left) }}
            title={`${duration(to - from)} in which nobody worked`}
          >
            {lane.depth === 0 && duration(to - from)}
          </span>
        ))}
        {lane.hops.map((hop) => (
          <Bar key={hop.key} hop={hop} facts={facts} />
        ))}
        <span class="now" style={{ left: percent(scale.place(moment)) }} />
      </span>
      <span class="sum">{duration(lane.workMs)}</span>
    </div>
  )
}

function Bar({ hop, facts }: { readonly hop: MemberHop; readonly facts: TimelineFacts }) {
  const { scale, moment, slowest, seek } = facts
  const left = scale.place(hop.began)
  const width = Math.max(scale.place(hop.ended ?? moment) - left, 0.004)
  const isSlowest = slowest?.key === hop.key
  const words = barWords(hop)
  const name = `${memberName(hop.member)}, ${duration(durationOf(hop, moment))}${isSlowest ? ', slowest' : ''}: ${words}`
  return (
    <>
      <button
        type="button"
        class={`bar ${colourOf(hop.member)} ${hop.standing} ${isSlowest ? 'slowest' : ''}`}
        style={{ left: percent(left), width: percent(width) }}
        title={name}
        aria-label={name}
        onClick={() => seek(hop.lastSeq)}
      >
        <span>{words}</span>
      </button>
      {hop.uses
        .filter(({ kind }) => kind === 'tool')
        .map(({ seq, at, durationMs, name: tool, failed }) => (
          <span
            key={seq}
            class={`use ${failed ? 'failed' : ''}`}
            style={{ left: percent(scale.place(at - durationMs)) }}
            title={`tool ${tool}`}
          />
        ))}
    </>
  )
}

function barWords(hop: MemberHop): string {
  if (hop.standing === 'failed' || hop.standing === 'retried') return `${hop.failure}`
  const tools = hop.uses.filter(({ kind }) => kind === 'tool').length
  const facts = [
    hop.try > 1 ? `try ${hop.try}` : '',
    tools > 0 ? `${tools} tool${tools > 1 ? 's' : ''}` : '',
    hop.standing === 'running'
      ? 'at work'
      : hop.standing === 'asks'
        ? 'asks you'
        : firstWords(hop.answer, 40),
  ]
  return facts.filter((fact) => fact !== '').join(' · ')
}

function percent(part: number): string {
  return `${(part * 100).toFixed(2)}%`
}
