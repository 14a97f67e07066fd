/** One of several faces of the same thing. */
interface Tab<T extends string> {
  readonly id: T
  readonly name: string
}

/** A row of tabs; arrows move between them, as everywhere. */
export function Tabs<T extends string>(props: {
  readonly label: string
  readonly tabs: readonly Tab<T>[]
  readonly chosen: T
  readonly choose: (tab: T) => void
  readonly look?: 'tabs' | 'pills'
}) {
  const { label, tabs, chosen, choose, look = 'tabs' } = props
  const move = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const at = tabs.findIndex(({ id }) => id === chosen)
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (!next) return
    choose(next.id)
    const list = event.currentTarget
    if (list instanceof HTMLElement)
      list.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus()
  }
  return (
    <div class={look} role="tablist" aria-label={label} tabIndex={-1} onKeyDown={move}>
      {tabs.map(({ id, name }) => (
        <button
          key={id}
          type="button"
          role="tab"
          data-tab={id}
          aria-selected={id === chosen}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => choose(id)}
        >
          {name}
        </button>
      ))}
    </div>
  )
}
