import type { NeedsYou, RosterAgent, TaskTotals } from '../../src/console/api.ts'
import { toAddress } from '../logic/route.ts'
import { readRoster, roster, rosterFault } from '../logic/state.ts'
import { countOf, duration, figure, homeHeadline, money } from '../logic/words.ts'
import { HealthDot } from '../parts/chips.tsx'
import { Empty, Fault } from '../parts/empty.tsx'
import { NeedsYouItem } from '../parts/inbox-item.tsx'
import { RecentTasks } from '../parts/recent-tasks.tsx'
import { Sparkline } from '../parts/sparkline.tsx'
import { useTitle } from '../parts/title.tsx'

/** Home: what matters now, who needs you, and how everybody does. */
export function HomeView() {
  const known = roster.value
  const words = known
    ? homeHeadline({ ...known.totals, needsYou: known.needsYou.length })
    : rosterFault.value || 'Looking around…'
  useTitle(words)
  return (
    <>
      <header class="head">
        <h1>{words}</h1>
        <a class="button" href="#/chat">
          Ask something
        </a>
      </header>
      {!known && <Fault text={rosterFault.value} retry={() => void readRoster()} />}
      {known && <Figures totals={known.totals} />}
      {known && <Inbox items={known.needsYou} />}
      {known && <AgentTable agents={known.agents} />}
      {known && <RecentTasks title="Lately" />}
    </>
  )
}

function Figures({ totals }: { readonly totals: TaskTotals }) {
  const { running, waiting, completed, failed, tokens } = totals
  const figures = [
    ['running', running, '?state=TASK_STATE_WORKING'],
    ['waiting', waiting, '?state=TASK_STATE_INPUT_REQUIRED'],
    ['completed', completed, '?state=TASK_STATE_COMPLETED'],
    ['failed', failed, '?state=TASK_STATE_FAILED'],
    ['tokens', tokens, ''],
  ] as const
  return (
    <dl class="panel stats">
      {figures.map(([name, value, search]) => (
        <div key={name} class={name === 'failed' && value > 0 ? 'bad-text' : ''}>
          <dt>{name}</dt>
          <dd>
            {search === '' ? (
              figure(value)
            ) : (
              <a class="quiet" href={`#/tasks${search}`}>
                {figure(value)}
              </a>
            )}
          </dd>
        </div>
      ))}
      {totals.costUsd !== undefined && (
        <div>
          <dt>cost</dt>
          <dd>{money(totals.costUsd)}</dd>
        </div>
      )}
    </dl>
  )
}

function Inbox({ items }: { readonly items: readonly NeedsYou[] }) {
  if (items.length === 0) return null
  return (
    <section class="inbox" aria-label="Needs you">
      {items.map((item) => (
        // A task that asks again is another question: an item of its own.
        <NeedsYouItem key={`${item.task.id} ${item.question?.messageId}`} item={item} />
      ))}
    </section>
  )
}

function AgentTable({ agents }: { readonly agents: readonly RosterAgent[] }) {
  if (agents.length === 0)
    return (
      <Empty title="Nothing is served here.">
        <p>
          Add an agent or a team to the configuration; <code>corral init</code> writes a first one.
        </p>
      </Empty>
    )
  return (
    <div class="panel scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Agent or team</th>
            <th scope="col" class="right">
              running
            </th>
            <th scope="col" class="right">
              waiting
            </th>
            <th scope="col" class="right">
              failed
            </th>
            <th scope="col" class="right wide">
              p50
            </th>
            <th scope="col" class="right wide">
              tokens
            </th>
            <th scope="col" class="wide">
              last hour
            </th>
          </tr>
        </thead>
        <tbody>
          {agents.map((agent) => (
            <AgentRow key={agent.id} agent={agent} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function AgentRow({ agent }: { readonly agent: RosterAgent }) {
  const address = toAddress({ view: 'chat', agent: agent.id })
  return (
    <tr>
      <th scope="row">
        <HealthDot health={agent.health} {...(agent.reason && { reason: agent.reason })} />
        <span class="name">
          <a class="quiet" href={address}>
            {agent.name}
          </a>{' '}
          <span class="faint">{aboutAgent(agent)}</span>
          {agent.health === 'sick' && <span class="bad-text">{agent.reason ?? 'not healthy'}</span>}
        </span>
      </th>
      <td class="right">{figure(agent.running)}</td>
      <td class="right">{figure(agent.waiting)}</td>
      <td class={agent.failed > 0 ? 'right bad-text' : 'right'}>{figure(agent.failed)}</td>
      <td class="right wide">{agent.p50Ms === undefined ? '–' : duration(agent.p50Ms)}</td>
      <td class="right wide">
        {figure(agent.tokens)}
        {agent.costUsd !== undefined && <span class="faint"> {money(agent.costUsd)}</span>}
      </td>
      <td class="wide">{agent.recent && <Sparkline values={agent.recent} />}</td>
    </tr>
  )
}

function aboutAgent({ kind, scheduler, members }: RosterAgent): string {
  if (kind !== 'team') return kind
  return [scheduler ?? 'team', countOf(members.length, 'member')].join(' · ')
}
