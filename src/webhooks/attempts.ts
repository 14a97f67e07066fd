import { type Clock, toTimestamp } from '../shared/clock.ts'
import type { DeliveryOutcome } from './deliver.ts'
import type { WebhookKey } from './pending.ts'

/** One attempt at a delivery, as people are shown it. */
export interface DeliveryAttempt {
  /** When it began. */
  readonly at: string
  /** The number of the event in its task's log. */
  readonly seq: number
  readonly outcome: DeliveryOutcome
  /** The HTTP status, where there was an answer. */
  readonly status?: number
  /** How long it took, in milliseconds. */
  readonly ms: number
}

/** What is remembered of a webhook since the process began. */
export interface DeliveryHistory {
  /** The newest first. */
  readonly attempts: readonly DeliveryAttempt[]
  /** When it is tried again, where it waits for that. */
  readonly nextAt?: string
}

/** Remembers the last attempts of webhooks. */
export interface AttemptMemory {
  attempted(key: WebhookKey, attempt: DeliveryAttempt): void
  /** The webhook is tried again after so long. */
  waits(key: WebhookKey, delayMs: number): void
  of(key: WebhookKey): DeliveryHistory
}

/** So many attempts of so many webhooks; those that were tried longest ago are forgotten first. */
const maxAttempts = 10
const maxWebhooks = 1_000

const nothing: DeliveryHistory = { attempts: [] }

/** Makes an empty memory. */
export function createAttemptMemory(clock: Clock): AttemptMemory {
  const known = new Map<string, DeliveryHistory>()

  function keep(key: WebhookKey, history: DeliveryHistory): void {
    const name = nameOf(key)
    known.delete(name)
    known.set(name, history)
    if (known.size <= maxWebhooks) return
    const [oldest = ''] = known.keys()
    known.delete(oldest)
  }

  const of = (key: WebhookKey): DeliveryHistory => known.get(nameOf(key)) ?? nothing
  return {
    of,
    attempted(key, attempt) {
      keep(key, { attempts: [attempt, ...of(key).attempts].slice(0, maxAttempts) })
    },
    waits(key, delayMs) {
      keep(key, { ...of(key), nextAt: toTimestamp(clock.now() + delayMs) })
    },
  }
}

function nameOf({ taskId, id }: WebhookKey): string {
  return JSON.stringify([taskId, id])
}
