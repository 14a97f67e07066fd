import { type ReadonlySignal, useComputed, useSignalEffect } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { isInterrupted, isTerminal } from '../../src/protocol/task.ts'
import type { Part } from '../../src/protocol/types.ts'
import type { ChatConversation } from '../logic/conversation.ts'
import type { ExchangeView } from '../logic/exchange.ts'
import { roster } from '../logic/state.ts'
import { Verdict } from './answer-form.tsx'
import { ChatLog } from './chat-log.tsx'
import { Composer } from './composer.tsx'
import { Empty, Fault } from './empty.tsx'

/** A conversation and the place to go on with it. */
export function Chat(props: {
  readonly conversation: ChatConversation
  readonly linked: boolean
  readonly name: string
  readonly examples: readonly string[]
}) {
  const { views, fault, say, cancel, resume } = props.conversation
  const isBusy = useComputed(() => views.value.some(isRunning))
  const asks = useComputed(() => asksFor(views.value.at(-1)))
  useStickyEnd(views)
  const speak = (parts: readonly Part[]): void => void say(parts)
  return (
    <div class="chat">
      {views.value.length === 0 && (
        <Empty title={`Ask ${props.name} something.`}>
          <p class="row centre">
            {props.examples.slice(0, 4).map((text) => (
              <button type="button" key={text} onClick={() => speak([{ text }])}>
                {text}
              </button>
            ))}
          </p>
        </Empty>
      )}
      <ChatLog views={views.value} resume={resume} linked={props.linked} />
      <Fault text={fault.value} />
      {asks.value === 'approval' && <Verdict say={speak} />}
      <Composer
        say={speak}
        cancel={isBusy.value ? () => void cancel() : undefined}
        placeholder={asks.value ? 'Your answer' : `Message to ${props.name}`}
      />
    </div>
  )
}

function isRunning({ task, phase }: ExchangeView): boolean {
  if (phase === 'lost') return false
  return task ? !isTerminal(task.status.state) : phase !== 'idle'
}

/** Whether the last task asks, and whether a yes or no would answer it. */
function asksFor(view: ExchangeView | undefined): 'input' | 'approval' | undefined {
  const status = view?.task?.status
  if (!status || !isInterrupted(status.state)) return undefined
  const asked = roster.value?.needsYou.find(({ task }) => task.id === view?.task?.id)
  return asked?.kind === 'approval' ? 'approval' : 'input'
}

/** Keeps the end of the conversation in sight, unless the reader has gone up. */
function useStickyEnd(views: ReadonlySignal<readonly ExchangeView[]>): void {
  const follows = useRef(true)
  useSignalEffect(() => {
    views.value
    const { scrollHeight } = document.documentElement
    follows.current = scrollHeight - scrollY - innerHeight < 160
  })
  useLayoutEffect(() => {
    if (follows.current) scrollTo(0, document.documentElement.scrollHeight)
  })
}
