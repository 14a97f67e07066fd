import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { ListedTask } from '../../src/console/api.ts'
import { isTerminal, taskStates } from '../../src/protocol/task.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { cancelTasks } from '../logic/answers.ts'
import { watchChanges } from '../logic/live.ts'
import type { TaskFilters } from '../logic/route.ts'
import { go, roster } from '../logic/state.ts'
import { createTaskList } from '../logic/task-list.ts'
import { countInWords, countOf, figure, stateWord } from '../logic/words.ts'
import { Empty, Fault } from '../parts/empty.tsx'
import { TaskTable } from '../parts/task-table.tsx'
import { useTitle } from '../parts/title.tsx'

/** All tasks that the caller may see, newest first, narrowed by what the address says. */
export function TasksView({ filters }: { readonly filters: TaskFilters }) {
  const query = JSON.stringify(filters)
  const list = useMemo(() => createTaskList(filters), [query])
  const selected = useSignal<ReadonlySet<string>>(new Set())
  const isAtTop = useRef(true)
  useEffect(() => {
    selected.value = new Set()
    void list.more()
    return watchChanges((change) => list.change(change, isAtTop.current))
  }, [query])
  const chosen = list.rows.value.filter(({ id }) => selected.value.has(id))
  const isEmpty = list.phase.value === 'complete' && list.rows.value.length === 0
  const words = title(list.total.value, filters)
  useTitle('Tasks')
  return (
    <div class="tasks-view">
      <header class="head">
        <h1>{words}</h1>
        <Bulk
          chosen={chosen}
          done={() => {
            selected.value = new Set()
          }}
        />
      </header>
      <Filters filters={filters} />
      {list.fresh.value.length > 0 && (
        <button type="button" class="fresh" onClick={list.showFresh}>
          Show {countOf(list.fresh.value.length, 'newer task')}
        </button>
      )}
      <Fault text={list.fault.value} retry={() => void list.more()} />
      {isEmpty ? (
        <NoTasks filters={filters} />
      ) : (
        <TaskTable
          key={query}
          rows={list.rows.value}
          total={list.total.value}
          selected={selected.value}
          select={(next) => {
            selected.value = next
          }}
          more={() => void list.more()}
          atTop={(top) => {
            isAtTop.current = top
          }}
        />
      )}
    </div>
  )
}

/** How long the search waits for another letter. */
const typingMs = 150

function Filters({ filters }: { readonly filters: TaskFilters }) {
  const field = useRef<HTMLInputElement>(null)
  const stopWaiting = useRef(() => {})
  useEffect(() => {
    const input = field.current
    if (input && input !== document.activeElement) input.value = filters.text ?? ''
  }, [filters.text])
  const set = (name: keyof TaskFilters, value: string): void => {
    stopWaiting.current()
    const { [name]: _, ...rest } = filters
    go({ view: 'tasks', query: value === '' ? rest : { ...rest, [name]: value } }, true)
  }
  const search = (): void => set('text', field.current?.value ?? '')
  const submit = (event: Event): void => {
    event.preventDefault()
    search()
  }
  const type = (): void => {
    stopWaiting.current()
    stopWaiting.current = systemClock.after(typingMs, search)
  }
  useEffect(() => () => stopWaiting.current(), [])
  return (
    <form class="row filters" onSubmit={submit} aria-label="Filters">
      <input
        type="search"
        ref={field}
        aria-label="Search"
        placeholder="First words or id"
        defaultValue={filters.text}
        onInput={type}
      />
      <select
        aria-label="Agent"
        value={filters.agent ?? ''}
        onChange={({ currentTarget }) => set('agent', currentTarget.value)}
      >
        <option value="">every agent</option>
        {roster.value?.agents.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      <select
        aria-label="State"
        value={filters.state ?? ''}
        onChange={({ currentTarget }) => set('state', currentTarget.value)}
      >
        <option value="">every state</option>
        {taskStates
          .filter((state) => state !== 'TASK_STATE_UNSPECIFIED')
          .map((state) => (
            <option key={state} value={state}>
              {stateWord(state).word}
            </option>
          ))}
      </select>
      {filters.context && (
        <button type="button" onClick={() => set('context', '')}>
          one conversation ×
        </button>
      )}
    </form>
  )
}

/** Cancels what is chosen and can be cancelled. */
function Bulk({
  chosen,
  done,
}: {
  readonly chosen: readonly ListedTask[]
  readonly done: () => void
}) {
  const said = useSignal('')
  const open = chosen.filter(({ mine, state }) => mine && !isTerminal(state))
  const cancel = async (): Promise<void> => {
    const left = await cancelTasks(open)
    said.value = left.length > 0 ? `${countOf(left.length, 'task')} would not be canceled` : ''
    done()
  }
  return (
    <span class="row tight" role="status">
      {said.value && <span class="bad-text">{said.value}</span>}
      {chosen.length > 0 && <span class="soft">{figure(chosen.length)} chosen</span>}
      {open.length > 0 && (
        <button type="button" class="danger" onClick={() => void cancel()}>
          Cancel {countOf(open.length, 'task')}
        </button>
      )}
    </span>
  )
}

function NoTasks({ filters }: { readonly filters: TaskFilters }) {
  if (Object.keys(filters).length > 0)
    return (
      <Empty title="No task is like this.">
        <p>
          <a href="#/tasks">Show all tasks</a>
        </p>
      </Empty>
    )
  return (
    <Empty title="No tasks yet.">
      <p>
        <a href="#/chat">Ask an agent something</a>, or send it a message from a terminal:{' '}
        <code>corral send {location.origin} "hello"</code>
      </p>
    </Empty>
  )
}

function title(total: number | undefined, { state }: TaskFilters): string {
  const known = taskStates.find((one) => one === state)
  if (total === undefined) return known ? `Tasks, ${stateWord(known).word}` : 'Tasks'
  return known
    ? `${countInWords(total, 'task')}, ${stateWord(known).word}`
    : countInWords(total, 'task')
}
