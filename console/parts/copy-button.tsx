import { useSignal } from '@preact/signals'
import { systemClock } from '../../src/shared/clock.ts'

/** Copies a text, and says so. */
export function CopyButton({ name, text }: { readonly name: string; readonly text: () => string }) {
  const done = useSignal(false)
  const copy = async (): Promise<void> => {
    await writeText(text())
    done.value = true
    systemClock.after(1_500, () => {
      done.value = false
    })
  }
  return (
    <button type="button" onClick={() => void copy()}>
      {done.value ? 'Copied' : name}
    </button>
  )
}

/** A page that is not served over TLS has no clipboard of its own. */
async function writeText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
