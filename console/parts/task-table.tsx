import { useSignal } from '@preact/signals'
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { ListedTask } from '../../src/console/api.ts'
import { taskLink } from '../logic/route.ts'
import { agentsById, now } from '../logic/state.ts'
import { figure, money, shortId, since } from '../logic/words.ts'
import { StateChip } from './chips.tsx'

/** How tall a row is, in pixels; the style sheet says the same. */
const rowHeight = 46

interface TableProps {
  readonly rows: readonly ListedTask[]
  readonly total: number | undefined
  readonly selected: ReadonlySet<string>
  readonly select: (ids: ReadonlySet<string>) => void
  /** Asks for the next page when the end comes near. */
  readonly more: () => void
  /** Told whether the newest rows are in sight. */
  readonly atTop: (isTop: boolean) => void
}

/** A list of any length of which only what is in sight is drawn. */
export function TaskTable(props: TableProps) {
  const { rows, total, selected } = props
  const frame = useRef<HTMLDivElement>(null)
  const { items, height } = useVirtualRows(rows.length, frame)
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - 20) props.more()
    props.atTop((items[0]?.start ?? 0) === 0)
  })
  const toggle = (id: string): void => {
    const next = new Set(selected)
    if (!next.delete(id)) next.add(id)
    props.select(next)
  }
  return (
    <div class="panel task-scroll" ref={frame}>
      <table class="task-table" aria-label="Tasks" aria-rowcount={total ?? -1}>
        <tbody onKeyDown={moveFocus} style={{ height: `${height}px` }}>
          {items.map(({ index, start }) => {
            const row = rows[index]
            if (!row) return null
            return (
              <Row
                key={row.id}
                row={row}
                index={index}
                top={start}
                isSelected={selected.has(row.id)}
                toggle={() => toggle(row.id)}
              />
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

interface RowProps {
  readonly row: ListedTask
  readonly index: number
  readonly top: number
  readonly isSelected: boolean
  readonly toggle: () => void
}

function Row({ row, index, top, isSelected, toggle }: RowProps) {
  const words = row.words || shortId(row.id)
  return (
    <tr class="task-row" aria-rowindex={index + 1} style={{ transform: `translateY(${top}px)` }}>
      <td>
        <input
          type="checkbox"
          aria-label={`Choose ${words}`}
          checked={isSelected}
          onChange={toggle}
        />
      </td>
      <td class="words">
        <a class="quiet" href={taskLink(row.id)}>
          {words}
        </a>
      </td>
      <td>
        <StateChip state={row.state} />
      </td>
      <td class="soft clip wide">
        {agentsById.value.get(row.agent)?.name ?? row.agent}
        {row.owner && <span class="faint"> · {row.owner}</span>}
      </td>
      <td class="right soft wide">
        {row.tokens ? `${figure(row.tokens)} tokens` : ''}
        {row.costUsd ? <span class="faint"> {money(row.costUsd)}</span> : ''}
      </td>
      <td class="right faint">{since(row.at, now.value)}</td>
    </tr>
  )
}

/** Which rows are in sight, and how tall all of them are. */
function useVirtualRows(count: number, frame: { readonly current: HTMLDivElement | null }) {
  const version = useSignal(0)
  const rows = useRef<Virtualizer<HTMLDivElement, HTMLDivElement>>(undefined)
  const options = {
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 6,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => void version.value++,
  }
  rows.current ??= new Virtualizer(options)
  const virtual = rows.current
  virtual.setOptions(options)
  useLayoutEffect(() => virtual._didMount(), [])
  useLayoutEffect(() => virtual._willUpdate())
  version.value
  const items: readonly VirtualItem[] = virtual.getVirtualItems()
  return { items, height: virtual.getTotalSize() }
}

/** Up and down go from row to row; the browser scrolls along. */
function moveFocus(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  const row = document.activeElement?.closest('.task-row')
  if (step === 0 || !row) return
  event.preventDefault()
  const wanted = Number(row.getAttribute('aria-rowindex')) + step
  row.parentElement?.querySelector<HTMLElement>(`[aria-rowindex="${wanted}"] a`)?.focus()
}
