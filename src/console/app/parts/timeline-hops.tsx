import type { MemberHop } from '../logic/hops.ts'
import { durationOf } from '../logic/lanes.ts'
import { colourOf, duration, figure } from '../logic/words.ts'
import { Empty } from './empty.tsx'
import { Markdown } from './markdown.tsx'
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
            <HopDetails hop={hop} facts={facts} />
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

function HopDetails({ hop, facts }: { readonly hop: MemberHop; readonly facts: TimelineFacts }) {
  const { inputTokens, outputTokens } = hop
  return (
    <div class="hop-details">
      <p class="row tight faint">
        <span>
          {hop.team && `${hop.team}, `}step {hop.step || '–'}
        </span>
        <span>{duration(durationOf(hop, facts.moment))}</span>
        {inputTokens + outputTokens > 0 && (
          <span>
            {figure(inputTokens)} tokens in, {figure(outputTokens)} out
          </span>
        )}
        <button type="button" class="plain" onClick={() => facts.seek(hop.lastSeq)}>
          Show the task as of here
        </button>
      </p>
      <h3>Asked</h3>
      <Markdown text={hop.question || '–'} />
      {hop.uses.map((use) => (
        <div key={use.seq} class="use-details">
          <h3>
            {use.kind === 'tool' ? 'Tool' : 'Model'} {use.name}{' '}
            <span class="faint">{duration(use.durationMs)}</span>
          </h3>
          {use.input && <pre>{use.input}</pre>}
          {use.output && <pre class={use.failed ? 'bad-text' : ''}>{use.output}</pre>}
        </div>
      ))}
      <h3>{hop.standing === 'failed' ? 'Failed' : 'Answered'}</h3>
      {hop.failure ? <p class="bad-text">{hop.failure}</p> : <Markdown text={hop.answer || '–'} />}
      {hop.fallback && <p>{hop.fallback} stood in.</p>}
    </div>
  )
}
