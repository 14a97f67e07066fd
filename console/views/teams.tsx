import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { EdgeFacts, EdgeMessage, TeamEdges, TeamGraph } from '../../src/console/api.ts'
import { edgesOf, lightsOfEdges } from '../logic/light.ts'
import { watchChanges } from '../logic/live.ts'
import { taskLink, toAddress } from '../logic/route.ts'
import { read, sentenceOf } from '../logic/server.ts'
import { now, roster } from '../logic/state.ts'
import { ago, countOf, duration, memberName, money } from '../logic/words.ts'
import { BudgetBar } from '../parts/budget-bar.tsx'
import { HealthDot } from '../parts/chips.tsx'
import { Empty, Fault } from '../parts/empty.tsx'
import { RecentTasks } from '../parts/recent-tasks.tsx'
import { type ChosenEdge, TeamPicture } from '../parts/team-picture.tsx'
import { useTitle } from '../parts/title.tsx'

/** All teams, or one as a graph. */
export function TeamsView({ id }: { readonly id: string | undefined }) {
  return id ? <TeamView key={id} id={id} /> : <TeamList />
}

function TeamList() {
  useTitle('Teams')
  const teams = roster.value?.agents.filter(({ kind }) => kind === 'team')
  return (
    <>
      <header class="head">
        <h1>{teams && teams.length !== 1 ? `${teams.length} teams` : 'One team'}</h1>
      </header>
      {teams?.length === 0 && (
        <Empty title="No team is served here.">
          <p>
            A <code>[[teams]]</code> table in the configuration makes one of several agents.
          </p>
        </Empty>
      )}
      <ul class="cards">
        {teams?.map((team) => (
          <li key={team.id}>
            <a class="panel pad" href={toAddress({ view: 'teams', id: team.id })}>
              <HealthDot health={team.health} />
              <b>{team.name}</b>
              <span class="soft">{team.description}</span>
              <span class="faint">
                {team.scheduler} · {team.members.map(memberName).join(', ')}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}

function TeamView({ id }: { readonly id: string }) {
  const graph = useSignal<TeamGraph | undefined>(undefined)
  const facts = useSignal<TeamEdges>({ edges: [], tasks: 0 })
  const fault = useSignal('')
  const chosen = useSignal<ChosenEdge | undefined>(undefined)
  useEffect(() => {
    const place = encodeURIComponent(id)
    const readEdges = async (): Promise<void> => {
      facts.value = await read<TeamEdges>(`edges/${place}`)
    }
    const load = async (): Promise<void> => {
      graph.value = await read<TeamGraph>(`graph/${place}`)
      await readEdges()
    }
    const refresh = (): void => void readEdges().catch(() => {}) // the next change asks again
    load().catch((thrown: unknown) => {
      fault.value = sentenceOf(thrown)
    })
    return watchChanges(({ task }) => {
      if (task.agent === id) refresh()
    }, refresh)
  }, [id])
  const team = graph.value
  useTitle(team?.name ?? 'Team')
  return (
    <>
      <header class="head">
        <div>
          <h1>{team?.name ?? memberName(id)}</h1>
          {team && <p class="soft">{team.description}</p>}
        </div>
        <span class="row tight">
          <span class="soft">
            {team?.scheduler}
            {facts.value.tasks > 0 && ` · last ${countOf(facts.value.tasks, 'run')}`}
            {facts.value.costUsd !== undefined && ` · ${money(facts.value.costUsd)}`}
          </span>
          {team?.maxCostUsd !== undefined && (
            <span class="soft">
              dearest run{' '}
              <BudgetBar
                label="Budget of the dearest run"
                spentUsd={facts.value.dearestUsd ?? 0}
                maxUsd={team.maxCostUsd}
              />
            </span>
          )}
          <a class="button" href={toAddress({ view: 'chat', agent: id })}>
            Chat
          </a>
        </span>
      </header>
      <Fault text={fault.value} />
      {team && (
        <div class="panel pad">
          <TeamPicture
            team={team}
            lights={lightsOfEdges(team, facts.value.edges)}
            choose={(edge) => {
              chosen.value = edge
            }}
            chosen={chosen.value?.key}
          />
        </div>
      )}
      {chosen.value ? (
        <EdgeMessages chosen={chosen.value} facts={facts.value.edges} />
      ) : (
        team && <p class="faint hint">Choose an edge to read the last messages over it.</p>
      )}
      <RecentTasks title="Last runs" agent={id} />
    </>
  )
}

function EdgeMessages({
  chosen,
  facts,
}: {
  readonly chosen: ChosenEdge
  readonly facts: readonly EdgeFacts[]
}) {
  const { edge, team } = chosen
  const fact = facts.find(
    (one) =>
      one.team === team.id &&
      edgesOf(team, one).some(({ from, to }) => from === edge.from && to === edge.to),
  )
  return (
    <section class="panel pad" aria-label="Last messages">
      <h2>
        {edge.from === '' ? 'You' : memberName(edge.from)} → {memberName(edge.to)}
        {fact && <span class="faint"> {summary(fact)}</span>}
      </h2>
      {!fact?.last.length && <p class="soft">Nothing went this way yet.</p>}
      <ol class="messages">
        {fact?.last.map((one) => (
          <OneMessage key={`${one.taskId}@${one.seq}`} message={one} />
        ))}
      </ol>
    </section>
  )
}

function OneMessage({ message }: { readonly message: EdgeMessage }) {
  const { at, durationMs, costUsd, taskId, seq, question, answer, failure } = message
  return (
    <li>
      <p class="row between">
        <span class="faint">
          {ago(at, now.value)}
          {durationMs !== undefined && ` · ${duration(durationMs)}`}
          {costUsd !== undefined && ` · ${money(costUsd)}`}
        </span>
        <a href={taskLink(taskId, seq)}>In its task</a>
      </p>
      <p class="clamp">{question}</p>
      {answer && <p class="clamp soft">{answer}</p>}
      {failure && <p class="bad-text">{failure}</p>}
    </li>
  )
}

function summary({ count: calls, p50Ms, failures }: EdgeFacts): string {
  const facts = [
    countOf(calls, 'call'),
    p50Ms === undefined ? '' : `p50 ${duration(p50Ms)}`,
    failures > 0 ? `${failures} failed` : '',
  ]
  return facts.filter((fact) => fact !== '').join(' · ')
}
