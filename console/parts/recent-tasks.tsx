import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ListedTask, TasksAnswer } from '../../src/console/api.ts'
import { watchChanges } from '../logic/live.ts'
import { taskLink, toAddress } from '../logic/route.ts'
import { read } from '../logic/server.ts'
import { agentsById, now } from '../logic/state.ts'
import { shortId, since } from '../logic/words.ts'
import { StateChip } from './chips.tsx'

/** As many as are worth a look in passing. */
const most = 6

/** The tasks that changed last, of one agent or of all. */
export function RecentTasks({ title, agent }: { readonly title: string; readonly agent?: string }) {
  const rows = useSignal<readonly ListedTask[]>([])
  useEffect(() => {
    const load = async (): Promise<void> => {
      const query = new URLSearchParams({ limit: `${most}`, ...(agent && { agent }) })
      rows.value = (await read<TasksAnswer>(`tasks?${query}`)).rows
    }
    const reload = (): void => void load().catch(() => {}) // the next change asks again
    reload()
    return watchChanges(({ task }) => {
      if (agent !== undefined && task.agent !== agent) return
      rows.value = [task, ...rows.value.filter(({ id }) => id !== task.id)].slice(0, most)
    }, reload)
  }, [agent])
  if (rows.value.length === 0) return null
  const all = toAddress({ view: 'tasks', query: agent ? { agent } : {} })
  return (
    <section class="recent" aria-label={title}>
      <p class="row between">
        <b>{title}</b>
        <a class="soft" href={all}>
          All tasks
        </a>
      </p>
      <ul class="panel plain-list">
        {rows.value.map((row) => (
          <li key={row.id}>
            <a class="clip" href={taskLink(row.id)}>
              {row.words || shortId(row.id)}
            </a>
            <span class="soft clip wide">
              {agent === undefined && (agentsById.value.get(row.agent)?.name ?? row.agent)}
            </span>
            <StateChip state={row.state} />
            <span class="faint right">{since(row.at, now.value)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
