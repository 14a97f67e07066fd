import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { TaskRecord } from '../../src/console/api.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { toRecordLine } from '../logic/record-words.ts'
import { taskAsOf } from '../logic/replay.ts'
import { StateChip } from './chips.tsx'
import { CopyButton } from './copy-button.tsx'

/** How long a whole log takes to play, and how long a record stays at most. */
const wholeMs = 12_000
const longestMs = 500

/** A slider over the log: everything below is shown as of the record it stands on. */
export function Replay(props: {
  readonly records: readonly TaskRecord[]
  /** Those up to the record it stands on. */
  readonly shown: readonly TaskRecord[]
  /** The record's number; the end of the log if absent. */
  readonly at: number | undefined
  readonly go: (at: number | undefined) => void
}) {
  const { records, shown, at, go } = props
  const past = shown.length < records.length ? taskAsOf(shown, [])?.status.state : undefined
  const isPlaying = useSignal(false)
  const last = records.length - 1
  const found = at === undefined ? last : records.findLastIndex(({ seq }) => seq <= at)
  const index = found < 0 ? 0 : found
  const record = records[index]
  const seek = (to: number): void =>
    go(to >= last ? undefined : (records[Math.max(to, 0)]?.seq ?? undefined))
  useEffect(() => {
    if (!isPlaying.value) return
    if (index >= last) {
      isPlaying.value = false
      return
    }
    return systemClock.after(Math.min(longestMs, wholeMs / last), () => seek(index + 1))
  }, [isPlaying.value, index, last])
  const play = (): void => {
    if (!isPlaying.value && index >= last) seek(0)
    isPlaying.value = !isPlaying.value
  }
  const words = record ? toRecordLine(record).title : ''
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be a flex container everywhere
    <div
      class={shown.length < records.length ? 'replay past' : 'replay'}
      role="group"
      aria-label="Replay"
    >
      <button type="button" onClick={play} aria-label={isPlaying.value ? 'Pause' : 'Play'}>
        {isPlaying.value ? '❚❚' : '▶'}
      </button>
      <input
        type="range"
        aria-label="Record"
        min={0}
        max={last}
        value={index}
        aria-valuetext={`Record ${index + 1} of ${records.length}: ${words}`}
        onInput={({ currentTarget }) => seek(Number(currentTarget.value))}
      />
      <span class="soft figures">
        {past && 'The past: '}record {index + 1} of {records.length}
      </span>
      {past && <StateChip state={past} />}
      {past && (
        <button type="button" onClick={() => go(undefined)}>
          Back to now
        </button>
      )}
      <span class="clip soft wide">{words}</span>
      <CopyButton name="Copy link" text={() => location.href} />
    </div>
  )
}
