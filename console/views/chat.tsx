import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { ListedTask, TasksAnswer } from '../../src/console/api.ts'
import { createConversation } from '../logic/conversation.ts'
import { oncePerFrame } from '../logic/frame.ts'
import { watchChanges } from '../logic/live.ts'
import { servedAgent } from '../logic/peer.ts'
import { toAddress } from '../logic/route.ts'
import { read } from '../logic/server.ts'
import { agentsById, go, now, roster, route } from '../logic/state.ts'
import { firstWords, since } from '../logic/words.ts'
import { Chat } from '../parts/chat.tsx'
import { HealthDot } from '../parts/chips.tsx'
import { useTitle } from '../parts/title.tsx'

/** Chat with an agent or team that is served here. */
export function ChatView(props: {
  readonly agent: string | undefined
  readonly context: string | undefined
}) {
  if (!props.agent) return <ChooseAgent />
  return <ChatWith agent={props.agent} context={props.context} />
}

function ChooseAgent() {
  useTitle('Chat')
  return (
    <>
      <header class="head">
        <h1>Who do you want to talk to?</h1>
      </header>
      <ul class="cards">
        {roster.value?.agents.map(({ id, name, description, health }) => (
          <li key={id}>
            <a class="panel pad" href={toAddress({ view: 'chat', agent: id })}>
              <HealthDot health={health} />
              <b>{name}</b>
              <span class="soft">{description}</span>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}

function ChatWith({
  agent,
  context,
}: {
  readonly agent: string
  readonly context: string | undefined
}) {
  const known = agentsById.value.get(agent)
  const name = known?.name ?? agent
  // A conversation that is new gets its context by the first answer; it stays the same one.
  const place = useRef<{ context: string | undefined; round: number }>({ context, round: 0 })
  if (context !== place.current.context) place.current = { context, round: place.current.round + 1 }
  useTitle(name)
  return (
    <div class="chat-view">
      <header class="head">
        <div>
          <h1>{name}</h1>
          {known && <p class="soft clip">{known.description}</p>}
        </div>
        <span class="row tight">
          {known?.kind === 'team' && (
            <a class="button" href={toAddress({ view: 'teams', id: agent })}>
              Team
            </a>
          )}
          <a class="button" href={toAddress({ view: 'chat', agent })}>
            New conversation
          </a>
        </span>
      </header>
      <Conversations agent={agent} context={context} />
      <OneConversation
        key={place.current.round}
        agent={agent}
        context={context}
        began={(id) => {
          place.current.context = id
        }}
      />
    </div>
  )
}

function OneConversation(props: {
  readonly agent: string
  readonly context: string | undefined
  /** Told the context that a new conversation got. */
  readonly began: (context: string) => void
}) {
  const { agent } = props
  const conversation = useMemo(
    () => createConversation({ peer: servedAgent(agent), schedule: oncePerFrame }),
    [agent],
  )
  useEffect(() => {
    if (props.context) void load(props.context)
    return () => conversation.close()
  }, [conversation])
  useSignalEffect(() => {
    const context = conversation.contextId.value
    const here = route.peek()
    if (!context || here.view !== 'chat' || here.context === context) return
    props.began(context)
    go({ view: 'chat', agent, context }, true)
  })

  async function load(context: string): Promise<void> {
    const query = new URLSearchParams({ agent, context, limit: '50' })
    const { rows } = await read<TasksAnswer>(`tasks?${query}`)
    await conversation.load(context, rows.map(({ id }) => id).reverse())
  }

  const known = agentsById.value.get(agent)
  return (
    <Chat
      conversation={conversation}
      linked
      name={known?.name ?? agent}
      examples={known?.examples ?? []}
    />
  )
}

/** The last conversations with this agent, newest first. */
function Conversations(props: { readonly agent: string; readonly context: string | undefined }) {
  const { agent, context } = props
  const rows = useSignal<readonly ListedTask[]>([])
  useEffect(() => {
    const load = async (): Promise<void> => {
      const query = new URLSearchParams({ agent, limit: '60' })
      rows.value = (await read<TasksAnswer>(`tasks?${query}`)).rows
    }
    const reload = (): void => void load().catch(() => {}) // the chat itself says what is wrong
    reload()
    return watchChanges(({ task }) => {
      if (task.agent === agent)
        rows.value = [task, ...rows.value.filter(({ id }) => id !== task.id)]
    }, reload)
  }, [agent])
  const firsts = firstOfEach(rows.value)
  if (firsts.length === 0) return null
  return (
    <aside class="conversations" aria-label="Conversations">
      <ul>
        {firsts.slice(0, 12).map((row) => (
          <li key={row.contextId}>
            <a
              href={toAddress({ view: 'chat', agent, context: row.contextId })}
              aria-current={row.contextId === context ? 'true' : undefined}
            >
              <span class="clip">{firstWords(row.words, 48) || 'A conversation'}</span>
              <span class="faint">{since(row.at, now.value)}</span>
            </a>
          </li>
        ))}
      </ul>
    </aside>
  )
}

/** One row per context: when it was last heard of, by the words that began it as far as they are known. */
function firstOfEach(rows: readonly ListedTask[]): readonly ListedTask[] {
  const contexts = new Map<string, ListedTask>()
  for (const row of rows) {
    const newer = contexts.get(row.contextId)
    contexts.set(row.contextId, newer ? { ...row, at: newer.at } : row)
  }
  return [...contexts.values()]
}
