import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { RelayCard } from '../../src/console/api.ts'
import { createConversation } from '../logic/conversation.ts'
import { oncePerFrame } from '../logic/frame.ts'
import { confirmOrigin, foreignAgent, isConfirmed, originOf, type Peer } from '../logic/peer.ts'
import { type AgentTab, toAddress } from '../logic/route.ts'
import { sentenceOf, write } from '../logic/server.ts'
import { go, roster, rosterFault } from '../logic/state.ts'
import { CardPanel } from '../parts/card-panel.tsx'
import { Chat } from '../parts/chat.tsx'
import { CheckPanel } from '../parts/check-panel.tsx'
import { Fault } from '../parts/empty.tsx'
import { ForeignTasks } from '../parts/foreign-tasks.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { useTitle } from '../parts/title.tsx'

const tabs: readonly { readonly id: AgentTab; readonly name: string }[] = [
  { id: 'card', name: 'Card' },
  { id: 'chat', name: 'Chat' },
  { id: 'tasks', name: 'Tasks' },
  { id: 'check', name: 'Check' },
]

/** Any agent by its URL: what it says of itself, and whether it keeps to it. */
export function AgentsView({
  url,
  tab,
}: {
  readonly url: string | undefined
  readonly tab: AgentTab
}) {
  if (!url) return <OpenAgent />
  const isServedHere = roster.value?.agents.some((agent) => agent.url === url)
  if (isServedHere || isConfirmed(url)) return <AgentView url={url} tab={tab} />
  // Until the roster is read, the agent may be one that is served here.
  return roster.value || rosterFault.value ? <ConfirmAgent url={url} /> : null
}

/** Asks before this server contacts an agent that the page's address names: a link may have put it there. */
function ConfirmAgent({ url }: { readonly url: string }) {
  useTitle('Contact this agent?')
  const origin = originOf(url)
  return (
    <section class="panel pad confirm" aria-labelledby="confirm-agent">
      <h1 id="confirm-agent">Contact this agent?</h1>
      <p>
        The address of this page names an agent at <b class="origin">{origin}</b>. If you continue,
        your Corral server sends requests to it.
      </p>
      {url !== origin && (
        <p class="faint">
          <code class="origin">{url}</code>
        </p>
      )}
      <p class="row">
        <button type="button" class="go" onClick={() => confirmOrigin(url)}>
          Contact it
        </button>
        <button type="button" onClick={() => go({ view: 'agents', tab: 'card' }, true)}>
          Do not contact it
        </button>
        <span class="faint">A yes is remembered in this tab.</span>
      </p>
    </section>
  )
}

function OpenAgent() {
  useTitle('Agents')
  return (
    <>
      <header class="head">
        <h1>Look at any agent</h1>
      </header>
      <AddressForm url="" />
      <p class="soft">
        Its card, its signature, a chat, its tasks, and what it does as the protocol demands.
        Nothing is kept here.
      </p>
      <ul class="cards">
        {roster.value?.agents.map(({ id, name, url }) => (
          <li key={id}>
            <a class="panel pad" href={toAddress({ view: 'agents', url, tab: 'card' })}>
              <b>{name}</b>
              <code class="faint">{url}</code>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}

function AddressForm({ url }: { readonly url: string }) {
  const submit = (event: Event): void => {
    event.preventDefault()
    if (!(event.currentTarget instanceof HTMLFormElement)) return
    const typed = String(new FormData(event.currentTarget).get('url') ?? '').trim()
    if (typed === '') return
    const url = /^https?:\/\//i.test(typed) ? typed : `https://${typed}`
    confirmOrigin(url)
    go({ view: 'agents', url, tab: 'card' })
  }
  return (
    <form class="row address-form" onSubmit={submit}>
      <input
        type="text"
        inputMode="url"
        name="url"
        class="grow"
        aria-label="URL of the agent"
        placeholder="https://agent.example"
        defaultValue={url}
      />
      <button type="submit" class="go">
        Open
      </button>
    </form>
  )
}

function AgentView({ url, tab }: { readonly url: string; readonly tab: AgentTab }) {
  const authorization = useSignal('')
  const found = useSignal<RelayCard | undefined>(undefined)
  const fault = useSignal('')
  const peer = useMemo(() => foreignAgent(url, authorization.value), [url, authorization.value])
  const load = async (): Promise<void> => {
    try {
      const secret = authorization.value
      found.value = await write<RelayCard>('relay', {
        kind: 'card',
        url,
        ...(secret && { authorization: secret }),
      })
      fault.value = ''
    } catch (thrown) {
      fault.value = sentenceOf(thrown)
    }
  }
  useEffect(() => void load(), [url, authorization.value])
  const name = found.value?.card.name ?? hostOf(url)
  useTitle(name)
  return (
    <>
      <header class="head">
        <div>
          <h1>{name}</h1>
          <p class="soft">{found.value?.speaks ?? url}</p>
        </div>
      </header>
      <AddressForm url={url} />
      <Credential
        set={(value) => {
          authorization.value = value
        }}
      />
      <Fault text={fault.value} retry={() => void load()} />
      <Tabs
        label="Views of the agent"
        tabs={tabs}
        chosen={tab}
        choose={(next) => go({ view: 'agents', url, tab: next }, true)}
      />
      {tab === 'card' && found.value && <CardPanel found={found.value} />}
      {tab === 'chat' && <ForeignChat peer={peer} name={name} found={found.value} />}
      {tab === 'tasks' && <ForeignTasks peer={peer} />}
      {tab === 'check' && <CheckPanel url={url} authorization={authorization.value} />}
    </>
  )
}

/** The header that the other agent wants; kept nowhere. */
function Credential({ set }: { readonly set: (value: string) => void }) {
  return (
    <details class="credential">
      <summary>It wants credentials</summary>
      <label class="field">
        <span>Authorization header</span>
        <input
          type="password"
          autocomplete="off"
          placeholder="Bearer …"
          onChange={({ currentTarget }) => set(currentTarget.value)}
        />
      </label>
    </details>
  )
}

function ForeignChat(props: {
  readonly peer: Peer
  readonly name: string
  readonly found: RelayCard | undefined
}) {
  const { peer } = props
  const conversation = useMemo(() => createConversation({ peer, schedule: oncePerFrame }), [peer])
  useEffect(() => () => conversation.close(), [conversation])
  const examples = props.found?.card.skills.flatMap((skill) => skill.examples ?? []) ?? []
  return <Chat conversation={conversation} linked={false} name={props.name} examples={examples} />
}

function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}
