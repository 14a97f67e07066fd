import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { TaskAnswer, TaskRecord } from '../../src/console/api.ts'
import { isInterrupted, isTerminal } from '../../src/protocol/task.ts'
import type { Part } from '../../src/protocol/types.ts'
import { answerTask, stopTask } from '../logic/answers.ts'
import { hopsCost, hopsTokens, toHops } from '../logic/hops.ts'
import { lastTime, taskAsOf, upTo, workOf } from '../logic/replay.ts'
import { type Route, type TaskTab, toAddress } from '../logic/route.ts'
import { sentenceOf } from '../logic/server.ts'
import { go, now } from '../logic/state.ts'
import { openTaskLog } from '../logic/task-log.ts'
import { duration, figure, firstWords, money, shortId } from '../logic/words.ts'
import { BudgetBar } from '../parts/budget-bar.tsx'
import { StateChip } from '../parts/chips.tsx'
import { Empty, Fault } from '../parts/empty.tsx'
import { Replay } from '../parts/replay.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { AsOf } from '../parts/task-as-of.tsx'
import { TaskGraph } from '../parts/task-graph.tsx'
import { TaskReply } from '../parts/task-reply.tsx'
import { Timeline } from '../parts/timeline.tsx'
import { useTitle } from '../parts/title.tsx'
import { Why } from '../parts/why.tsx'
import { Wire } from '../parts/wire.tsx'

type TaskRoute = Extract<Route, { readonly view: 'task' }>

const tabs: readonly { readonly id: TaskTab; readonly name: string }[] = [
  { id: 'timeline', name: 'Timeline' },
  { id: 'graph', name: 'Graph' },
  { id: 'wire', name: 'Wire' },
]

/** One task: who did what and when, as of any record of its log. */
export function TaskView({ route }: { readonly route: TaskRoute }) {
  const log = useMemo(() => openTaskLog(route.id), [])
  useEffect(() => () => log.close(), [])
  const head = log.head.value
  const all = log.records.value
  const shown = useMemo(() => (route.at === undefined ? all : upTo(all, route.at)), [all, route.at])
  useTitle(head ? firstWords(head.words, 50) : 'Task')
  if (!head)
    return (
      <>
        <h1>Task {shortId(route.id)}</h1>
        <Fault text={log.fault.value} retry={() => void log.refresh()} />
        <Why why={log.why.value} />
      </>
    )
  const change = (next: Partial<TaskRoute>): void => go({ ...route, ...next }, true)
  return (
    <>
      <TaskHead head={head} records={all} refresh={() => void log.refresh()} />
      <Why why={head.why} />
      <Tabs
        label="Views of the task"
        tabs={tabs}
        chosen={route.tab}
        choose={(tab) => change({ tab })}
      />
      {route.tab !== 'wire' && all.length > 1 && (
        <Replay
          records={all}
          shown={shown}
          at={route.at}
          go={(at) => go(withPlace(route, at), true)}
        />
      )}
      {!head.trace && route.tab !== 'wire' && <NoTrace />}
      {route.tab === 'timeline' && (
        <Timeline
          all={all}
          shown={shown}
          zoom={route.zoom}
          choose={(zoom) => change({ zoom })}
          seek={(at) => go(withPlace(route, at), true)}
          agent={head.agent}
        />
      )}
      {route.tab === 'graph' && (
        <TaskGraph
          agent={head.agent}
          records={shown}
          seek={(at) => go(withPlace(route, at), true)}
        />
      )}
      {route.tab === 'wire' && (
        <Wire head={head} dialect={route.dialect} choose={(dialect) => change({ dialect })} />
      )}
      {route.tab !== 'wire' && (
        <AsOf task={taskAsOf(shown, head.history)} isReplay={shown.length < all.length} />
      )}
    </>
  )
}

interface HeadProps {
  readonly head: TaskAnswer
  readonly records: readonly TaskRecord[]
  readonly refresh: () => void
}

function TaskHead({ head, records, refresh }: HeadProps) {
  const fault = useSignal('')
  const { state } = head
  const guarded = async (work: () => Promise<void>): Promise<void> => {
    fault.value = ''
    await work().catch((thrown: unknown) => {
      fault.value = sentenceOf(thrown)
    })
    refresh()
  }
  const tokens = head.tokens ?? hopsTokens(toHops(records))
  return (
    <>
      <header class="head">
        <div>
          <h1>{firstWords(head.words, 110) || `Task ${shortId(head.id)}`}</h1>
          <p class="row tight soft">
            <StateChip state={state} />
            <a href={toAddress({ view: 'chat', agent: head.agent, context: head.contextId })}>
              {head.agentName}
            </a>
            <code title={head.id}>{shortId(head.id)}</code>
            <span>{times(records, state)}</span>
            {tokens > 0 && <span>{figure(tokens)} tokens</span>}
            <Cost head={head} records={records} />
            {head.owner && <span>{head.owner}</span>}
          </p>
        </div>
        {head.mine && !isTerminal(head.state) && (
          <button type="button" onClick={() => void guarded(() => stopTask(head))}>
            Cancel
          </button>
        )}
      </header>
      <Fault text={fault.value} />
      {head.mine && isInterrupted(head.state) && (
        <TaskReply
          head={head}
          say={(parts: readonly Part[]) => void guarded(() => answerTask(head, parts))}
        />
      )}
    </>
  )
}

/** What the task has cost, and where there is a budget, how much of it. */
function Cost({ head, records }: Pick<HeadProps, 'head' | 'records'>) {
  const isWhole = (records.at(-1)?.seq ?? head.version) >= head.version
  const spent = (isWhole ? head.costUsd : undefined) ?? hopsCost(toHops(records))
  if (head.maxCostUsd !== undefined)
    return <BudgetBar label="Budget" spentUsd={spent ?? 0} maxUsd={head.maxCostUsd} />
  return spent === undefined ? null : <span>{money(spent)}</span>
}

function NoTrace() {
  return (
    <Empty title="This task has no trace.">
      <p>
        Its agent tells nobody what happens inside, or <code>trace = false</code> stands in{' '}
        <code>[server]</code>. Its events are all here.
      </p>
    </Empty>
  )
}

/** How long it took in all, and how much of that was work. */
function times(records: readonly TaskRecord[], state: TaskAnswer['state']): string {
  const end =
    isTerminal(state) || isInterrupted(state) ? (lastTime(records) ?? now.value) : now.value
  const work = workOf(records, end)
  const [first] = work
  if (!first) return ''
  const workMs = work.reduce((sum, { from, to }) => sum + to - from, 0)
  const allMs = end - first.from
  return allMs - workMs > 2_000
    ? `${duration(allMs)}, ${duration(workMs)} of work`
    : duration(workMs)
}

function withPlace(route: TaskRoute, at: number | undefined): TaskRoute {
  const { at: _, ...rest } = route
  return at === undefined ? rest : { ...rest, at }
}
