import type { MemberHop } from '../logic/hops.ts'
import { colourOf } from '../logic/words.ts'
import { Empty } from './empty.tsx'
import { HopDetails } from './hop-details.tsx'
import type { TimelineFacts } from './timeline-facts.ts'
import { HopLine } from './work.tsx'

/** A line per hop, in order, children beneath; each opens to what was asked and answered. */
export function TimelineHops({ facts }: { readonly facts: TimelineFacts }) {
  if (facts.hops.length === 0) return <Empty title="Nobody was asked yet." />
  return (
    <ol class="panel hops">
      {facts.hops.map((hop) => (
        <li key={hop.key} class={`depth-${Math.min(hop.depth, 4)}`}>
          <details>
            <summary>
              <HopLine hop={hop} />
              {facts.slowest?.key === hop.key && <span class="chip wait">slowest</span>}
              <MiniBar hop={hop} facts={facts} />
            </summary>
            <HopDetails hop={hop} moment={facts.moment} seek={facts.seek} />
          </details>
        </li>
      ))}
    </ol>
  )
}

function MiniBar({
  hop,
  facts: { scale, moment },
}: {
  readonly hop: MemberHop
  readonly facts: TimelineFacts
}) {
  const left = scale.place(hop.began) * 100
  const width = Math.max(scale.place(hop.ended ?? moment) * 100 - left, 1)
  return (
    <span class="mini wide" aria-hidden="true">
      <i
        class={`${colourOf(hop.member)} ${hop.standing}`}
        style={{ left: `${left}%`, width: `${width}%` }}
      />
    </span>
  )
}
