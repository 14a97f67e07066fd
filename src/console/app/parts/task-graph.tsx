import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { TaskRecord, TeamGraph } from '../../api.ts'
import { toHops } from '../logic/hops.ts'
import { lightsOfHops } from '../logic/light.ts'
import { Refused, read, sentenceOf } from '../logic/server.ts'
import { Empty, Fault } from './empty.tsx'
import { TeamPicture } from './team-picture.tsx'

/** The team of a task, lit by what its log says up to a record. */
export function TaskGraph({
  agent,
  records,
}: {
  readonly agent: string
  readonly records: readonly TaskRecord[]
}) {
  const graph = useSignal<TeamGraph | undefined>(undefined)
  const fault = useSignal<unknown>(undefined)
  useEffect(() => {
    read<TeamGraph>(`graph/${encodeURIComponent(agent)}`).then(
      (answer) => {
        graph.value = answer
      },
      (thrown: unknown) => {
        fault.value = thrown
      },
    )
  }, [agent])
  const team = graph.value
  const lights = useMemo(
    () => (team ? lightsOfHops(team, toHops(records)) : new Map()),
    [team, records],
  )
  if (fault.value instanceof Refused && fault.value.status === 404)
    return (
      <Empty title="No team worked on this task.">
        <p>A single agent has no graph; the timeline shows what it did.</p>
      </Empty>
    )
  if (fault.value) return <Fault text={sentenceOf(fault.value)} />
  if (!team) return null
  return (
    <div class="panel pad">
      <TeamPicture team={team} lights={lights} />
    </div>
  )
}
