import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { TaskRecord } from '../../src/console/api.ts'
import { toLines } from '../logic/record-words.ts'
import { recordTime } from '../logic/replay.ts'
import { firstWords } from '../logic/words.ts'
import { JsonText } from './json-text.tsx'

/** As many lines as are drawn at first; older ones by a press. */
const atFirst = 200

/** Every record of the log, newest last; chunks of one artifact share a line. */
export function TimelineRecords(props: {
  readonly records: readonly TaskRecord[]
  readonly seek: (seq: number) => void
}) {
  const lines = useMemo(() => toLines(props.records), [props.records])
  const shown = useSignal(atFirst)
  const first = Math.max(lines.length - shown.value, 0)
  return (
    <div class="panel records">
      {first > 0 && (
        <button
          type="button"
          class="plain"
          onClick={() => {
            shown.value += atFirst
          }}
        >
          Show {Math.min(first, atFirst)} earlier records
        </button>
      )}
      <ol>
        {lines.slice(first).map(({ record, lastSeq, title, text, tone }) => (
          <li key={record.seq}>
            <details>
              <summary>
                <span class="number">
                  {lastSeq > record.seq ? `${record.seq}–${lastSeq}` : record.seq}
                </span>
                <span class={`mark-${tone}`}>{title}</span>
                <span class="soft clip">{firstWords(text, 120)}</span>
                <span class="faint time wide">{clockTime(recordTime(record))}</span>
              </summary>
              <p>
                <button type="button" class="plain" onClick={() => props.seek(lastSeq)}>
                  Show the task as of here
                </button>
              </p>
              <JsonText
                value={'event' in record ? record.event : 'entry' in record ? record.entry : record}
              />
            </details>
          </li>
        ))}
      </ol>
    </div>
  )
}

function clockTime(ms: number | undefined): string {
  return ms === undefined ? '' : new Date(ms).toISOString().slice(11, 23)
}
