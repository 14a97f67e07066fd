import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { TaskRecord, TeamGraph } from '../../src/console/api.ts'
import { lastTime } from '../logic/replay.ts'
import { Refused, read, sentenceOf } from '../logic/server.ts'
import { now } from '../logic/state.ts'
import { lightTask } from '../logic/task-light.ts'
import { Empty, Fault } from './empty.tsx'
import { NodeDetails } from './node-details.tsx'
import { type ChosenNode, TeamPicture } from './team-picture.tsx'

/** The team of a task, lit by what its log says up to a record. */
export function TaskGraph({
  agent,
  records,
  seek,
}: {
  readonly agent: string
  readonly records: readonly TaskRecord[]
  /** Shows the task as of a record. */
  readonly seek: (seq: number) => void
}) {
  const chosen = useSignal<ChosenNode | undefined>(undefined)
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
  const light = useMemo(() => team && lightTask(team, records), [team, records])
  if (fault.value instanceof Refused && fault.value.status === 404)
    return (
      <Empty title="No team worked on this task.">
        <p>A single agent has no graph; the timeline shows what it did.</p>
      </Empty>
    )
  if (fault.value) return <Fault text={sentenceOf(fault.value)} />
  if (!team || !light) return null
  return (
    <>
      <div class="panel pad">
        <TeamPicture
          team={team}
          lights={light.lights}
          chooseNode={(node) => {
            chosen.value = node
          }}
          chosen={chosen.value && `node ${chosen.value.place}`}
        />
      </div>
      {chosen.value ? (
        <NodeDetails
          chosen={chosen.value}
          light={light}
          moment={lastTime(records) ?? now.value}
          seek={seek}
        />
      ) : (
        <p class="faint hint">Choose a node to see what happened there.</p>
      )}
    </>
  )
}
