import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ReceivedBody, TrialReceiver } from '../../src/console/api.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { newMessageId } from '../logic/ids.ts'
import { servedAgent } from '../logic/peer.ts'
import { read, sentenceOf, write } from '../logic/server.ts'
import { now, roster } from '../logic/state.ts'
import { ago, duration } from '../logic/words.ts'
import { CopyButton } from './copy-button.tsx'
import { Fault } from './empty.tsx'
import { JsonText } from './json-text.tsx'

/** How often a receiver is looked at while the page shows it. */
const everyMs = 2_000

/** A receiver of webhooks to try with, and a message whose updates go to it. */
export function ReceiverPanel({ sent }: { readonly sent: () => void }) {
  const receiver = useSignal<TrialReceiver | undefined>(undefined)
  const fault = useSignal('')
  const id = receiver.value?.id
  useEffect(() => {
    if (!id) return
    let callOff = (): void => {}
    const look = (): void => {
      read<TrialReceiver>(`receiver/${encodeURIComponent(id)}`).then(
        (next) => {
          receiver.value = next
          callOff = systemClock.after(everyMs, look)
        },
        (thrown: unknown) => {
          fault.value = sentenceOf(thrown)
        },
      )
    }
    callOff = systemClock.after(everyMs, look)
    return () => callOff()
  }, [id])
  const make = async (): Promise<void> => {
    try {
      receiver.value = await write<TrialReceiver>('receiver')
      fault.value = ''
    } catch (thrown) {
      fault.value = sentenceOf(thrown)
    }
  }
  const open = receiver.value
  return (
    <section class="panel pad" aria-label="Receiver">
      <h2>A receiver to try with</h2>
      <Fault text={fault.value} />
      {!open && (
        <p class="row">
          <button type="button" onClick={() => void make()}>
            Make a receiver
          </button>
          <span class="faint">
            It takes 50 bodies and lasts an hour; who knows its address may send to it.
          </span>
        </p>
      )}
      {open && <Address receiver={open} />}
      {open && <TryIt url={open.url} sent={sent} />}
      {open && <Bodies bodies={open.bodies} />}
    </section>
  )
}

function Address({ receiver: { url, expiresAt } }: { readonly receiver: TrialReceiver }) {
  const left = Math.max(Date.parse(expiresAt) - now.value, 0)
  return (
    <p class="row">
      <code class="address">{url}</code>
      <CopyButton name="Copy" text={() => url} />
      <span class="faint">for {duration(left)}</span>
    </p>
  )
}

/** Sends a message with a webhook that points to the receiver. */
function TryIt({ url, sent }: { readonly url: string; readonly sent: () => void }) {
  const said = useSignal('')
  const send = async (form: HTMLFormElement): Promise<void> => {
    const data = new FormData(form)
    const message = {
      messageId: newMessageId(),
      role: 'ROLE_USER',
      parts: [{ text: String(data.get('text') || 'Hello') }],
    }
    const configuration = { returnImmediately: true, taskPushNotificationConfig: { url } }
    try {
      await servedAgent(String(data.get('agent'))).call('SendMessage', { message, configuration })
      said.value = 'Sent; its updates arrive below.'
    } catch (thrown) {
      said.value = sentenceOf(thrown)
    }
    sent()
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    if (event.currentTarget instanceof HTMLFormElement) void send(event.currentTarget)
  }
  return (
    <form class="row" onSubmit={submit}>
      <select name="agent" aria-label="Agent">
        {roster.value?.agents.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      <input type="text" name="text" class="grow" aria-label="Message to try" placeholder="Hello" />
      <button type="submit">Send with this webhook</button>
      <span class="soft" role="status">
        {said.value}
      </span>
    </form>
  )
}

function Bodies({ bodies }: { readonly bodies: readonly ReceivedBody[] }) {
  if (bodies.length === 0) return <p class="faint">Nothing has arrived yet.</p>
  return (
    <ol class="frames">
      {bodies.map((one, i) => (
        <li key={`${one.at}/${bodies.length - i}`}>
          <details>
            <summary>
              {ago(one.at, now.value)} <span class="faint">{one.headers['content-type']}</span>{' '}
              <span class="clip soft">{one.body.slice(0, 120)}</span>
            </summary>
            <pre class="headers">
              {Object.entries(one.headers)
                .map(([name, value]) => `${name}: ${value}`)
                .join('\n')}
            </pre>
            <JsonText value={parsed(one.body)} />
          </details>
        </li>
      ))}
    </ol>
  )
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}
