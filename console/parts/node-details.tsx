import { verdictWord } from '../logic/picture-words.ts'
import type { TaskLight } from '../logic/task-light.ts'
import { money } from '../logic/words.ts'
import { GuardLines, HopDetails } from './hop-details.tsx'
import type { ChosenNode } from './team-picture.tsx'

/** What happened at a node of a task's graph: its calls, cases, guards, and what the user said. */
export function NodeDetails(props: {
  readonly chosen: ChosenNode
  readonly light: TaskLight
  readonly moment: number
  readonly seek: (seq: number) => void
}) {
  const { node, place } = props.chosen
  const light = props.light.lights.get(place)
  const story = props.light.stories.get(place)
  const ofCalls = new Set(story?.hops.flatMap(({ guards }) => guards.map(({ seq }) => seq)))
  return (
    <section class="panel pad" aria-label="What happened here">
      <h2>
        {node.name}
        {light?.costUsd !== undefined && <span class="faint"> {money(light.costUsd)}</span>}
      </h2>
      {node.cases && <Cases cases={node.cases} taken={light?.taken ?? []} />}
      {node.kind === 'approval' && <p class="soft">{node.detail}</p>}
      {story?.verdicts.map(({ seq, verdict, text }) => (
        <p key={seq} class="row tight">
          <span class={`chip ${verdictTones[verdict] ?? 'wait'}`}>{verdictWord(verdict)}</span>
          <span class="soft">{text}</span>
        </p>
      ))}
      <GuardLines findings={(story?.guards ?? []).filter(({ seq }) => !ofCalls.has(seq))} />
      {story?.hops.map((hop) => (
        <HopDetails key={hop.key} hop={hop} moment={props.moment} seek={props.seek} />
      ))}
      {!light?.count && !light?.guards && (
        <p class="soft">
          {light?.skipped ? 'This step was left out.' : 'Nothing happened here yet.'}
        </p>
      )}
    </section>
  )
}

const verdictTones: Readonly<Record<string, string>> = { approved: 'good', rejected: 'bad' }

function Cases(props: { readonly cases: readonly string[]; readonly taken: readonly number[] }) {
  return (
    <ol class="cases">
      {props.cases.map((when, index) => (
        <li key={when}>
          <code>{when}</code>
          {props.taken.includes(index + 1) && <span class="chip good">taken</span>}
        </li>
      ))}
    </ol>
  )
}
