import type { ComponentChildren } from 'preact'

/** Where there is nothing yet: what it means, and what to do. */
export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children}
    </div>
  )
}

/** Something went wrong: the server's own sentence. */
export function Fault({ text, retry }: { readonly text: string; readonly retry?: () => void }) {
  if (text === '') return null
  return (
    <p class="fault" role="alert">
      {text}{' '}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </p>
  )
}
