import type { GuardFinding, MemberHop, Use } from '../logic/hops.ts'
import { dataIn } from '../logic/json-branches.ts'
import { durationOf } from '../logic/lanes.ts'
import { duration, figure, money } from '../logic/words.ts'
import { JsonTree } from './json-tree.tsx'
import { Markdown } from './markdown.tsx'

/** What one call was asked, used, answered and cost, and what guards said to it. */
export function HopDetails(props: {
  readonly hop: MemberHop
  readonly moment: number
  readonly seek: (seq: number) => void
}) {
  const { hop, moment, seek } = props
  const { inputTokens, outputTokens, costUsd } = hop
  return (
    <div class="hop-details">
      <p class="row tight faint">
        <span>
          {hop.team && `${hop.team}, `}step {hop.step || '–'}
        </span>
        <span>{duration(durationOf(hop, moment))}</span>
        {inputTokens + outputTokens > 0 && (
          <span>
            {figure(inputTokens)} tokens in, {figure(outputTokens)} out
          </span>
        )}
        {costUsd !== undefined && <span>{money(costUsd)}</span>}
        <button type="button" class="plain" onClick={() => seek(hop.lastSeq)}>
          Show the task as of here
        </button>
      </p>
      <h3>Asked</h3>
      <Said text={hop.question} />
      <GuardLines findings={hop.guards.filter(({ side }) => side === 'input')} />
      {hop.uses.map((use) => (
        <UseDetails key={use.seq} use={use} />
      ))}
      <h3>{hop.failure === undefined ? 'Answered' : 'Failed'}</h3>
      {hop.failure ? <p class="bad-text">{hop.failure}</p> : <Said text={hop.answer} />}
      <GuardLines findings={hop.guards.filter(({ side }) => side === 'output')} />
      {hop.fallback && <p>{hop.fallback} stood in.</p>}
    </div>
  )
}

const guardLooks = {
  allow: { word: 'allowed', chip: 'good' },
  replace: { word: 'replaced', chip: 'wait' },
  block: { word: 'blocked', chip: 'bad' },
} as const

/** What guards decided, with their reasons. */
export function GuardLines({ findings }: { readonly findings: readonly GuardFinding[] }) {
  return (
    <>
      {findings.map(({ seq, side, guard, verdict, reason }) => (
        <p key={seq} class="row tight guard-line">
          <span class={`chip ${guardLooks[verdict].chip}`}>{guardLooks[verdict].word}</span>
          <span>
            {side} guard <b>{guard}</b>
          </span>
          {reason && <span class={verdict === 'block' ? 'bad-text' : 'soft'}>{reason}</span>}
        </p>
      ))}
    </>
  )
}

const useNames = { tool: 'Tool', model: 'Model', 'tool-approval': 'You were asked about' } as const

function UseDetails({ use }: { readonly use: Use }) {
  const { kind, name, durationMs, input, output, failed, costUsd } = use
  return (
    <div class="use-details">
      <h3>
        {useNames[kind]} {name}{' '}
        <span class="faint">
          {kind !== 'tool-approval' && duration(durationMs)}
          {costUsd !== undefined && ` · ${money(costUsd)}`}
        </span>
      </h3>
      {input && <pre>{input}</pre>}
      {output && <pre class={failed ? 'bad-text' : ''}>{output}</pre>}
    </div>
  )
}

/** What was said: data as a tree, anything else as markdown. */
function Said({ text }: { readonly text: string }) {
  const data = dataIn(text)
  if (data) return <JsonTree value={data} />
  return <Markdown text={text || '–'} />
}
