import { toBranches } from '../logic/json-branches.ts'
import { JsonText } from './json-text.tsx'

/** Data as a tree: what is deep is folded and opens by a press. */
export function JsonTree({ value }: { readonly value: unknown }) {
  if (typeof value !== 'object' || value === null) return <JsonText value={value} />
  return (
    <div class="json tree">
      <Branches value={value} depth={0} />
    </div>
  )
}

/** So deep a tree is open at first; deeper than the other nobody reads a tree. */
const openDepth = 2
const maxDepth = 24

function Branches({ value, depth }: { readonly value: object; readonly depth: number }) {
  const { branches, left } = toBranches(value)
  if (depth >= maxDepth) return <JsonText value={value} />
  return (
    <ul>
      {branches.map(({ key, inner, words, kind }) => (
        <li key={key}>
          {inner ? (
            <details open={depth < openDepth - 1}>
              <summary>
                <span class="key">{key}</span> <span class="mark">{words}</span>
              </summary>
              <Branches value={inner} depth={depth + 1} />
            </details>
          ) : (
            <p>
              <span class="key">{key}</span> <span class={kind}>{words}</span>
            </p>
          )}
        </li>
      ))}
      {left > 0 && <li class="mark">{left.toLocaleString('en')} more</li>}
    </ul>
  )
}
