import { toJsonTokens } from '../logic/json-tokens.ts'

/** JSON as people read it, its keys and values told apart by colour. */
export function JsonText({ value }: { readonly value: unknown }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by the keyboard too
    <pre class="json" tabIndex={0}>
      {toJsonTokens(value).map(({ kind, text }, i) => (
        <span key={i} class={kind}>
          {text}
        </span>
      ))}
    </pre>
  )
}
