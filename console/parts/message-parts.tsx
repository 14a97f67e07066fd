import type { Part } from '../../src/protocol/types.ts'
import { isTextual, toBlobUrl } from '../logic/files.ts'
import { JsonTree } from './json-tree.tsx'
import { Markdown } from './markdown.tsx'

/** What a message or artifact holds: text as markdown, data as a tree, files as links. */
export function MessageParts({ parts }: { readonly parts: readonly Part[] }) {
  return (
    <>
      {joined(parts).map((part, i) => (
        <OnePart key={i} part={part} />
      ))}
    </>
  )
}

function OnePart({ part }: { readonly part: Part }) {
  if ('text' in part) return <Markdown text={part.text} />
  if ('data' in part)
    return (
      <figure class="data">
        <figcaption>{part.filename ?? 'data'}</figcaption>
        <JsonTree value={part.data} />
      </figure>
    )
  const name = part.filename ?? part.mediaType ?? 'file'
  if ('url' in part)
    return (
      <p>
        {isTextual(part.url) ? (
          <a href={part.url} target="_blank" rel="noopener noreferrer">
            {name}
          </a>
        ) : (
          <span>
            {name} <code>{part.url}</code>
          </span>
        )}
      </p>
    )
  return <RawFile name={name} raw={part.raw} mediaType={part.mediaType} />
}

function RawFile({
  name,
  raw,
  mediaType,
}: {
  readonly name: string
  readonly raw: string
  readonly mediaType: string | undefined
}) {
  const save = (): void => {
    const url = toBlobUrl(raw, mediaType)
    const link = document.createElement('a')
    link.href = url
    link.download = name
    link.click()
    URL.revokeObjectURL(url)
  }
  const bytes = Math.floor((raw.length * 3) / 4)
  return (
    <p>
      <button type="button" class="file" onClick={save}>
        ↓ {name} <span class="faint">{bytes.toLocaleString('en')} bytes</span>
      </button>
    </p>
  )
}

/** Chunks of one text are one text. */
function joined(parts: readonly Part[]): readonly Part[] {
  const all: Part[] = []
  for (const part of parts) {
    const last = all.at(-1)
    if ('text' in part && last && 'text' in last)
      all[all.length - 1] = { ...last, text: last.text + part.text }
    else all.push(part)
  }
  return all
}
