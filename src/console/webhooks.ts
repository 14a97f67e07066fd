import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { ConsoleHost } from '../server/options.ts'
import { readUrl } from '../shared/text.ts'
import type { DeadLetter, Webhook } from '../store/store.ts'
import type {
  DeadLetterRow,
  RedriveAnswer,
  ShownWebhook,
  WebhookAttempt,
  WebhooksAnswer,
} from './api.ts'
import { type ApiCall, bodyOf, type Viewer } from './call.ts'

/** So many webhooks and dead letters are shown, the newest. */
const maxShown = 200

/** Makes the handlers of `webhooks` and `webhooks/redrive`. */
export function createWebhookHandlers(host: ConsoleHost): {
  list(call: ApiCall): Promise<WebhooksAnswer>
  redrive(call: ApiCall): Promise<RedriveAnswer>
} {
  async function list({ viewer }: ApiCall): Promise<WebhooksAnswer> {
    const queues = (await webhooksOf(host, viewer)).map((webhook) => queueOf(host, webhook))
    const letters = await lettersOf(host, viewer, maxShown)
    return { queues, deadLetters: await Promise.all(letters.map((one) => toRow(host, one))) }
  }

  async function redrive(call: ApiCall): Promise<RedriveAnswer> {
    const { webhooks } = host
    if (!webhooks) throw new A2AError('unsupportedOperation', 'This server has no webhooks')
    const ids = idsOf(bodyOf(call).ids)
    const own = new Set((await lettersOf(host, call.viewer, 1_000)).map(({ id }) => id))
    const results: { id: string; delivered: boolean; reason?: string }[] = []
    for (const id of ids)
      results.push(
        own.has(id)
          ? { id, ...(await attempt(() => webhooks.redrive(id))) }
          : { id, delivered: false, reason: 'There is no such dead letter' },
      )
    return { results }
  }

  return { list, redrive }
}

async function webhooksOf(
  { store, mounts }: ConsoleHost,
  viewer: Viewer,
): Promise<readonly Webhook[]> {
  if (viewer.isOperator) {
    const all = await store.webhooks({ limit: maxShown })
    return all.filter(({ head }) => viewer.sees(head))
  }
  const own = scopesOf(mounts, viewer).map((scope) => store.webhooks({ scope, limit: maxShown }))
  return (await Promise.all(own)).flat().slice(0, maxShown)
}

function scopesOf(mounts: ConsoleHost['mounts'], viewer: Viewer) {
  const agents = [...mounts.keys()].filter((id) => viewer.reaches(id))
  return agents.flatMap((id) => viewer.scopesOf(id))
}

/** A webhook as the page shows it: how far it is, and what was tried. */
export function queueOf(
  { webhooks }: ConsoleHost,
  { record, head, version }: Webhook,
): ShownWebhook {
  const { taskId, id, config, dialect, cursor, agent } = record
  const { attempts = [], nextAt } = webhooks?.history(taskId, id) ?? {}
  const lag = Math.max(0, version - cursor)
  const isDone = lag === 0 && isTerminal(head.state)
  return {
    taskId,
    id,
    agent,
    url: shownUrl(config.url),
    dialect,
    cursor,
    lag,
    state: isDone ? 'done' : lag > 0 && nextAt === undefined ? 'delivering' : 'waiting',
    ...(nextAt !== undefined && lag > 0 && { nextAt }),
    attempts: attempts.map(({ at, seq, status, ms, outcome }): WebhookAttempt => {
      const durationMs = Math.round(ms)
      const failure = outcome.kind === 'delivered' ? undefined : outcome.reason
      return {
        at,
        seq,
        durationMs,
        ...(status !== undefined && { status }),
        ...(failure !== undefined && { failure }),
      }
    }),
  }
}

/** A URL without what may be secret in it: query, fragment, credentials. */
function shownUrl(text: string): string {
  const url = readUrl(text)
  return url ? url.origin + url.pathname : ''
}

async function lettersOf(
  { store, mounts }: ConsoleHost,
  viewer: Viewer,
  limit: number,
): Promise<readonly DeadLetter[]> {
  if (viewer.isOperator) {
    const all = await store.deadLetters(limit)
    const seen = await Promise.all(
      all.map(async (letter) => {
        const stored = await store.get(letter.taskId, undefined, { light: true })
        return stored && viewer.sees(stored.head) ? [letter] : []
      }),
    )
    return seen.flat()
  }
  const own = scopesOf(mounts, viewer).map((scope) => store.deadLetters(limit, scope))
  return (await Promise.all(own))
    .flat()
    .sort((a, b) => (a.at < b.at ? 1 : -1))
    .slice(0, limit)
}

async function toRow({ store }: ConsoleHost, letter: DeadLetter): Promise<DeadLetterRow> {
  const { id, taskId, configId, seq, attempts, reason, at } = letter
  const config = (await store.pushConfigs(taskId)).find((one) => one.id === configId)
  const url = config ? shownUrl(config.config.url) : ''
  return { id, taskId, configId, url, seq, attempts, reason, at }
}

const maxRedriven = 100

function idsOf(ids: unknown): readonly string[] {
  if (Array.isArray(ids) && ids.length <= maxRedriven && ids.every((id) => typeof id === 'string'))
    return ids
  throw new A2AError(
    'invalidParams',
    `ids must be a list of at most ${maxRedriven} ids of dead letters`,
  )
}

async function attempt(
  redrive: () => Promise<{ readonly kind: string; readonly reason?: string }>,
): Promise<{ delivered: boolean; reason?: string }> {
  try {
    const { kind, reason } = await redrive()
    return { delivered: kind === 'delivered', ...(reason !== undefined && { reason }) }
  } catch (thrown) {
    if (thrown instanceof A2AError) return { delivered: false, reason: thrown.message }
    throw thrown
  }
}
