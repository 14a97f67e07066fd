import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type {
  DeadLetterRow,
  RedriveAnswer,
  RedriveRequest,
  ShownWebhook,
  WebhookAttempt,
  WebhooksAnswer,
} from '../../src/console/api.ts'
import { watchChanges } from '../logic/live.ts'
import { taskLink } from '../logic/route.ts'
import { read, sentenceOf, write } from '../logic/server.ts'
import { now } from '../logic/state.ts'
import { ago, countInWords, countOf, duration, shortId } from '../logic/words.ts'
import { Empty, Fault } from '../parts/empty.tsx'
import { ReceiverPanel } from '../parts/receiver-panel.tsx'
import { useTitle } from '../parts/title.tsx'

/** Webhooks: how far each is, what was given up, and a receiver to try with. */
export function WebhooksView() {
  const answer = useSignal<WebhooksAnswer | undefined>(undefined)
  const fault = useSignal('')
  const load = async (): Promise<void> => {
    try {
      answer.value = await read<WebhooksAnswer>('webhooks')
      fault.value = ''
    } catch (thrown) {
      fault.value = sentenceOf(thrown)
    }
  }
  const reload = (): void => void load()
  useEffect(() => {
    reload()
    return watchChanges(reload, reload)
  }, [])
  useTitle('Webhooks')
  const { queues = [], deadLetters = [] } = answer.value ?? {}
  return (
    <>
      <header class="head">
        <h1>{answer.value ? headlineOf(queues, deadLetters) : 'Webhooks'}</h1>
      </header>
      <Fault text={fault.value} retry={reload} />
      {deadLetters.length > 0 && <DeadLetters letters={deadLetters} done={reload} />}
      {queues.length > 0 && <Queues queues={queues} />}
      {answer.value && queues.length + deadLetters.length === 0 && (
        <Empty title="No task has a webhook.">
          <p>Make a receiver below and send a message whose updates go to it.</p>
        </Empty>
      )}
      <ReceiverPanel sent={reload} />
    </>
  )
}

function headlineOf(queues: readonly ShownWebhook[], dead: readonly DeadLetterRow[]): string {
  if (dead.length > 0)
    return `${countInWords(dead.length, 'delivery').replace('deliverys', 'deliveries')} given up`
  const behind = queues.filter(({ lag }) => lag > 0).length
  if (behind > 0) return `${countInWords(behind, 'webhook')} ${behind === 1 ? 'is' : 'are'} behind`
  return queues.length === 0 ? 'Webhooks' : 'All webhooks are up to date'
}

function Queues({ queues }: { readonly queues: readonly ShownWebhook[] }) {
  return (
    <div class="panel scroll">
      <table>
        <caption class="hidden">Queues</caption>
        <thead>
          <tr>
            <th scope="col">To</th>
            <th scope="col">Task</th>
            <th scope="col" class="right">
              behind
            </th>
            <th scope="col">Last attempts</th>
            <th scope="col" class="wide">
              next
            </th>
          </tr>
        </thead>
        <tbody>
          {queues.map((queue) => (
            <tr key={`${queue.taskId}/${queue.id}`}>
              <td>
                <code class="clip">{queue.url}</code> <span class="faint">{queue.dialect}</span>
              </td>
              <td>
                <a href={taskLink(queue.taskId)}>{shortId(queue.taskId)}</a>
              </td>
              <td class="right">{queue.lag === 0 ? '–' : countOf(queue.lag, 'record')}</td>
              <td>
                <Attempts attempts={queue.attempts} />
              </td>
              <td class="wide soft">
                {queue.nextAt
                  ? `in ${duration(Math.max(Date.parse(queue.nextAt) - now.value, 0))}`
                  : queue.state}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Attempts({ attempts }: { readonly attempts: readonly WebhookAttempt[] }) {
  if (attempts.length === 0) return <span class="faint">none since the start</span>
  return (
    <span class="row tight">
      {attempts.slice(0, 5).map(({ at, seq, status, failure }) => (
        <span
          key={`${at}/${seq}`}
          class={`chip ${failure ? 'bad' : 'good'}`}
          title={`record ${seq}, ${ago(at, now.value)}${failure ? `: ${failure}` : ''}`}
        >
          {status ?? 'no answer'}
        </span>
      ))}
    </span>
  )
}

function DeadLetters(props: {
  readonly letters: readonly DeadLetterRow[]
  readonly done: () => void
}) {
  const { letters } = props
  const said = useSignal('')
  const redrive = async (ids: readonly string[]): Promise<void> => {
    try {
      const request: RedriveRequest = { ids: ids.slice(0, 100) }
      const { results } = await write<RedriveAnswer>('webhooks/redrive', request)
      const left = results.filter(({ delivered }) => !delivered)
      const reason = left[0]?.reason ?? ''
      said.value = left.length === 0 ? 'Delivered.' : `${left.length} not delivered: ${reason}`
    } catch (thrown) {
      said.value = sentenceOf(thrown)
    }
    props.done()
  }
  return (
    <section class="panel scroll" aria-label="Given up">
      <p class="row between pad">
        <b>Given up</b>
        <span class="row tight">
          <span role="status" class="soft">
            {said.value}
          </span>
          <button type="button" onClick={() => void redrive(letters.map(({ id }) => id))}>
            Redrive all
          </button>
        </span>
      </p>
      <table>
        <caption class="hidden">Dead letters</caption>
        <tbody>
          {letters.map(({ id, taskId, url, seq, attempts, reason, at }) => (
            <tr key={id}>
              <td>
                <code class="clip">{url}</code>
              </td>
              <td>
                <a href={taskLink(taskId, seq)}>
                  {shortId(taskId)}@{seq}
                </a>
              </td>
              <td class="bad-text">{reason}</td>
              <td class="faint wide">
                {countOf(attempts, 'attempt')}, {ago(at, now.value)}
              </td>
              <td class="right">
                <button type="button" onClick={() => void redrive([id])}>
                  Redrive
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
