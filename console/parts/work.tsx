import { useMemo } from 'preact/hooks'
import type { TaskRecord } from '../../src/console/api.ts'
import { hopsCost, hopsTokens, type MemberHop, toHops, toOwnUses, type Use } from '../logic/hops.ts'
import { durationOf } from '../logic/lanes.ts'
import { now } from '../logic/state.ts'
import { countOf, duration, figure, firstWords, memberName, money } from '../logic/words.ts'
import { MemberDot } from './chips.tsx'

/** Who worked on an answer, folded into a line once the answer is there. */
export function WorkDone({
  trace,
  open,
}: {
  readonly trace: readonly TaskRecord[]
  readonly open: boolean
}) {
  const hops = useMemo(() => toHops(trace), [trace])
  const own = useMemo(() => toOwnUses(trace), [trace])
  if (hops.length === 0 && own.length === 0) return null
  return (
    <details class="work" open={open}>
      <summary>{summary(hops, own)}</summary>
      <ul>
        {hops.map((hop) => (
          <li key={hop.key} class={`depth-${Math.min(hop.depth, 4)}`}>
            <HopLine hop={hop} />
          </li>
        ))}
        {own.map((use) => (
          <li key={use.seq}>
            <UseLine use={use} />
          </li>
        ))}
      </ul>
    </details>
  )
}

const standings = { running: 'at work', done: 'done', asks: 'asks you' } as const

const tones: Partial<Record<MemberHop['standing'], string>> = {
  failed: 'bad-text',
  retried: 'warn-text',
}

/** One hop in a line: who, how long, what came of it. */
export function HopLine({ hop }: { readonly hop: MemberHop }) {
  const outcome =
    hop.standing === 'failed' || hop.standing === 'retried'
      ? `failed: ${hop.failure}`
      : firstWords(hop.answer, 70) || standings[hop.standing]
  return (
    <>
      <MemberDot id={hop.member} />
      <b>{memberName(hop.member)}</b>
      <span class="figures">
        {hop.ended === undefined ? duration(durationOf(hop, now.value)) : duration(durationOf(hop))}
      </span>
      {hop.try > 1 && <span class="chip wait">try {hop.try}</span>}
      {hop.fallback && <span class="chip wait">→ {memberName(hop.fallback)}</span>}
      {hop.uses.some(({ kind }) => kind === 'tool') && (
        <span class="chip calm">
          {countOf(hop.uses.filter(({ kind }) => kind === 'tool').length, 'tool')}
        </span>
      )}
      {worstGuard(hop) === 'block' && <span class="chip bad">blocked</span>}
      {worstGuard(hop) === 'replace' && <span class="chip wait">replaced</span>}
      {hop.costUsd !== undefined && <span class="figures">{money(hop.costUsd)}</span>}
      <span class={tones[hop.standing] ?? 'soft clip'}>{outcome}</span>
    </>
  )
}

/** The gravest that a guard found in a call. */
function worstGuard({ guards }: MemberHop): 'block' | 'replace' | undefined {
  const verdicts = guards.map(({ verdict }) => verdict)
  if (verdicts.includes('block')) return 'block'
  return verdicts.includes('replace') ? 'replace' : undefined
}

/** A tool or a round of a model in a line. */
function UseLine({ use }: { readonly use: Use }) {
  return (
    <>
      <span class="chip calm">{use.kind === 'tool-approval' ? 'asked' : use.kind}</span>{' '}
      <b>{use.name}</b>
      {use.kind !== 'tool-approval' && <span class="figures">{duration(use.durationMs)}</span>}
      <span class={use.failed ? 'bad-text' : 'soft clip'}>
        {firstWords(use.kind !== 'model' ? `${use.input} → ${use.output}` : use.output, 80)}
      </span>
    </>
  )
}

function summary(hops: readonly MemberHop[], own: readonly Use[]): string {
  const members = new Set(hops.map(({ member }) => member)).size
  const tokens = hopsTokens(hops)
  const cost = hopsCost(hops)
  const failed = hops.filter(({ standing }) => standing === 'failed').length
  const retried = hops.filter(({ standing }) => standing === 'retried').length
  const running = hops.filter(({ standing }) => standing === 'running').at(-1)
  const facts = [
    running ? `${memberName(running.member)} is at work` : '',
    members > 0 ? countOf(members, 'member') : '',
    hops.length > members ? countOf(hops.length, 'call') : '',
    own.length > 0 ? countOf(own.length, 'step') : '',
    failed > 0 ? `${failed} failed` : '',
    retried > 0 ? `${retried} retried` : '',
    tokens > 0 ? `${figure(tokens)} tokens` : '',
    cost === undefined ? '' : money(cost),
  ]
  return facts.filter((fact) => fact !== '').join(' · ')
}
