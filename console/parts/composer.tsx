import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { Part } from '../../src/protocol/types.ts'
import { toPart } from '../logic/files.ts'
import { sentenceOf } from '../logic/server.ts'
import { Fault } from './empty.tsx'

/** Where the user writes; Enter sends, Shift+Enter begins a line. */
export function Composer(props: {
  readonly say: (parts: readonly Part[]) => void
  readonly cancel?: (() => void) | undefined
  readonly placeholder: string
}) {
  const text = useSignal('')
  const files = useSignal<readonly Part[]>([])
  const fault = useSignal('')
  const area = useRef<HTMLTextAreaElement>(null)
  const send = (): void => {
    const words = text.value.trim()
    if (words === '' && files.value.length === 0) return
    props.say([...(words === '' ? [] : [{ text: words }]), ...files.value])
    text.value = ''
    files.value = []
    area.current?.focus()
  }
  const attach = async (chosen: FileList | null): Promise<void> => {
    fault.value = ''
    try {
      const parts = await Promise.all(Array.from(chosen ?? [], toPart))
      files.value = [...files.value, ...parts]
    } catch (thrown) {
      fault.value = sentenceOf(thrown)
    }
  }
  const keys = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    send()
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    send()
  }
  return (
    <form class="composer" onSubmit={submit}>
      <Fault text={fault.value} />
      <Attached
        files={files.value}
        drop={(at) => {
          files.value = files.value.toSpliced(at, 1)
        }}
      />
      <div class="composer-box">
        <textarea
          ref={area}
          rows={2}
          aria-label="Message"
          placeholder={props.placeholder}
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value
          }}
          onKeyDown={keys}
        />
        <div class="row tight">
          <label class="attach">
            <input
              type="file"
              multiple
              class="hidden"
              onChange={({ currentTarget }) => void attach(currentTarget.files)}
            />
            Attach a file
          </label>
          <span class="grow" />
          {props.cancel && (
            <button type="button" onClick={props.cancel}>
              Cancel
            </button>
          )}
          <button type="submit" class="go">
            Send
          </button>
        </div>
      </div>
    </form>
  )
}

function Attached({
  files,
  drop,
}: {
  readonly files: readonly Part[]
  readonly drop: (at: number) => void
}) {
  if (files.length === 0) return null
  return (
    <ul class="row tight attached" aria-label="Attached files">
      {files.map(({ filename = 'file' }, i) => (
        <li key={filename} class="chip">
          {filename}{' '}
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${filename}`}
            onClick={() => drop(i)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  )
}
