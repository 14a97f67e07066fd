import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { TaskAnswer, WireAnswer, WireDialect } from '../../src/console/api.ts'
import { asCorral, asCurl, asTypeScript, type Copied } from '../logic/copy-as.ts'
import { wireDialects } from '../logic/route.ts'
import { read, sentenceOf } from '../logic/server.ts'
import { agentsById } from '../logic/state.ts'
import { CopyButton } from './copy-button.tsx'
import { Empty, Fault } from './empty.tsx'
import { JsonText } from './json-text.tsx'
import { Tabs } from './tabs.tsx'

const names: Readonly<Record<WireDialect, string>> = {
  '1.0': 'A2A 1.0',
  rest: '1.0 REST',
  '0.3': 'A2A 0.3',
  '1.0-rc': '1.0-rc',
  ranch: 'RANCH',
  openai: 'OpenAI',
  webhook: 'Webhook',
}

/** The exchange of a task as it looks on each wire. */
export function Wire(props: {
  readonly head: TaskAnswer
  readonly dialect: WireDialect
  readonly choose: (dialect: WireDialect) => void
}) {
  const { head, dialect } = props
  const answer = useSignal<WireAnswer | undefined>(undefined)
  const fault = useSignal('')
  useEffect(() => {
    const closing = new AbortController()
    const query = `wire?dialect=${encodeURIComponent(dialect)}`
    read<WireAnswer>(`tasks/${encodeURIComponent(head.id)}/${query}`, closing.signal).then(
      (next) => {
        answer.value = next
        fault.value = ''
      },
      (thrown: unknown) => {
        if (!closing.signal.aborted) fault.value = sentenceOf(thrown)
      },
    )
    return () => closing.abort()
  }, [head.id, head.version, dialect])
  return (
    <section class="wire">
      <div class="row between">
        <Tabs
          label="Wire"
          look="pills"
          tabs={wireDialects.map((id) => ({ id, name: names[id] }))}
          chosen={dialect}
          choose={props.choose}
        />
        <CopyAs head={head} answer={answer.value} />
      </div>
      <Fault text={fault.value} />
      {answer.value?.dialect === dialect && <Frames answer={answer.value} />}
    </section>
  )
}

function CopyAs({
  head,
  answer,
}: {
  readonly head: TaskAnswer
  readonly answer: WireAnswer | undefined
}) {
  const [message] = head.history.filter(({ role }) => role === 'ROLE_USER')
  if (!message) return null
  const request = answer?.frames.find(
    ({ direction, title }) => direction === 'request' && title.startsWith('POST'),
  )
  const isHook = answer?.dialect === 'webhook'
  const agentUrl = agentsById.value.get(head.agent)?.url ?? location.origin
  const copied: Copied = { agentUrl, message, ...(request && !isHook && { request }) }
  return (
    <span class="row tight copy-as">
      <span class="soft">Copy as</span>
      <CopyButton name="curl" text={() => asCurl(copied)} />
      <CopyButton name="corral" text={() => asCorral(copied)} />
      <CopyButton name="TypeScript" text={() => asTypeScript(copied)} />
    </span>
  )
}

function Frames({ answer }: { readonly answer: WireAnswer }) {
  if (answer.frames.length === 0)
    return <Empty title="Nothing of this task can be said in this dialect." />
  return (
    <ol class="frames">
      {answer.frames.map((frame, i) => (
        <li key={i} class={`panel ${frame.direction}`}>
          <p class="frame-title">
            <b>{frame.direction === 'request' ? '→' : '←'}</b> <code>{frame.title}</code>
            {frame.seq !== undefined && <span class="faint">record {frame.seq}</span>}
          </p>
          {Object.keys(frame.headers).length > 0 && (
            <pre class="headers">
              {Object.entries(frame.headers)
                .map(([name, value]) => `${name}: ${value}`)
                .join('\n')}
            </pre>
          )}
          <JsonText value={frame.body} />
        </li>
      ))}
      {answer.more > 0 && <li class="faint">{answer.more} more are left out.</li>}
    </ol>
  )
}
