import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { textOf } from '../../src/protocol/task.ts'
import type { ListTasksResponse, Task } from '../../src/protocol/types.ts'
import type { Peer } from '../logic/peer.ts'
import { sentenceOf } from '../logic/server.ts'
import { now } from '../logic/state.ts'
import { ago, firstWords, shortId } from '../logic/words.ts'
import { StateChip } from './chips.tsx'
import { Empty, Fault } from './empty.tsx'

/** The newest tasks of an agent elsewhere, as it lists them. */
export function ForeignTasks({ peer }: { readonly peer: Peer }) {
  const tasks = useSignal<readonly Task[] | undefined>(undefined)
  const next = useSignal('')
  const fault = useSignal('')
  const load = async (pageToken: string): Promise<void> => {
    try {
      const request = { pageSize: 50, historyLength: 1, ...(pageToken && { pageToken }) }
      const answer: unknown = await peer.call('ListTasks', request)
      const page = answer as ListTasksResponse // what ListTasks answers
      tasks.value = [...(pageToken ? (tasks.value ?? []) : []), ...(page.tasks ?? [])]
      next.value = page.nextPageToken ?? ''
      fault.value = ''
    } catch (thrown) {
      fault.value = sentenceOf(thrown)
    }
  }
  useEffect(() => void load(''), [peer])
  const shown = tasks.value
  return (
    <section aria-label="Tasks">
      <Fault text={fault.value} retry={() => void load('')} />
      {shown?.length === 0 && <Empty title="It has no tasks of yours." />}
      {shown && shown.length > 0 && (
        <ul class="panel plain-list">
          {shown.map((task) => (
            <li key={task.id} class="row">
              <StateChip state={task.status.state} />
              <span class="grow clip">{wordsOf(task)}</span>
              <code class="faint">{shortId(task.id)}</code>
              <span class="faint">
                {task.status.timestamp && ago(task.status.timestamp, now.value)}
              </span>
            </li>
          ))}
        </ul>
      )}
      {next.value !== '' && (
        <button type="button" onClick={() => void load(next.value)}>
          Show more
        </button>
      )}
    </section>
  )
}

function wordsOf({ history, status, id }: Task): string {
  const message = history?.[0] ?? status.message
  return (message && firstWords(textOf(message.parts))) || id
}
