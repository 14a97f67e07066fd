import { useSignal } from '@preact/signals'
import type { NeedsYou } from '../../src/console/api.ts'
import type { Part } from '../../src/protocol/types.ts'
import { answerTask } from '../logic/answers.ts'
import { askedTool } from '../logic/asked-tool.ts'
import { taskLink, toAddress } from '../logic/route.ts'
import { sentenceOf } from '../logic/server.ts'
import { agentsById, now, readRoster } from '../logic/state.ts'
import { ago } from '../logic/words.ts'
import { AnswerForm } from './answer-form.tsx'
import { Fault } from './empty.tsx'
import { MessageParts } from './message-parts.tsx'
import { ToolQuestion } from './tool-question.tsx'

const says = {
  approval: 'asks for your approval',
  input: 'asks you',
  login: 'needs you to sign in elsewhere',
} as const

/** A task that waits for the user, answered in place. */
export function NeedsYouItem({ item }: { readonly item: NeedsYou }) {
  const { task, kind, feedback, question } = item
  const fault = useSignal('')
  const isSent = useSignal(false)
  const say = async (parts: readonly Part[]): Promise<void> => {
    isSent.value = true
    fault.value = ''
    try {
      await answerTask(task, parts)
      await readRoster()
    } catch (thrown) {
      isSent.value = false
      fault.value = sentenceOf(thrown)
    }
  }
  const name = agentsById.value.get(task.agent)?.name ?? task.agent
  return (
    <article class="panel pad" aria-label={`${name} ${says[kind]}`}>
      <header class="row between">
        <span>
          <a
            class="quiet"
            href={toAddress({ view: 'chat', agent: task.agent, context: task.contextId })}
          >
            <b>{name}</b>
          </a>{' '}
          <span class="soft">{says[kind]}</span>
        </span>
        <a class="quiet faint" href={taskLink(task.id)}>
          {ago(task.at, now.value)}
        </a>
      </header>
      <p class="faint clip">{task.words}</p>
      {question && <Question parts={question.parts} />}
      {isSent.value && <p class="soft">Sent; the task goes on.</p>}
      {task.mine && !isSent.value && kind !== 'login' && (
        <AnswerForm kind={kind} feedback={feedback} say={(parts) => void say(parts)} />
      )}
      <Fault text={fault.value} />
    </article>
  )
}

/** What it is about may be long and is scrolled; what is asked, the last part, is always in sight. */
export function Question({ parts }: { readonly parts: readonly Part[] }) {
  if (askedTool(parts)) return <ToolQuestion parts={parts} />
  const about = parts.slice(0, -1)
  return (
    <>
      {about.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by the keyboard too
        <div class="ask" tabIndex={0}>
          <MessageParts parts={about} />
        </div>
      )}
      <div class="asked">
        <MessageParts parts={parts.slice(-1)} />
      </div>
    </>
  )
}
