import type { Guard } from '../network/guard.ts'
import { A2AError } from '../protocol/errors.ts'
import type { TaskPushNotificationConfig } from '../protocol/types.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { type Logger, silent } from '../shared/log.ts'
import type { DeadLetter, Store } from '../store/store.ts'
import {
  createDeliver,
  type Deliver,
  type DeliveryOutcome,
  type DeliveryRules,
  type EncodeWebhook,
  persist,
  type RetryPolicy,
  standardRetry,
} from './deliver.ts'
import {
  AttemptMemory,
  type DeliveryHistory,
  DeliveryQueues,
  redriveLetter,
} from './delivery-queue.ts'
import { createPrincipals, type DeliveryLimits, type PrincipalOf, Slots } from './delivery-slots.ts'

/**
 * The webhooks of a server: what was delivered, what was given up, and how to try it again. Every event reaches each
 * webhook of its task at least once and in order.
 */
export interface Webhooks {
  /**
   * Resumes what the last process left.
   * @internal
   */
  start(): Promise<void>
  /**
   * Says that a task's log has grown. Costs a look into a set where the task is known to have no webhooks.
   * @internal
   */
  notify(taskId: string): void
  /**
   * Says that a task was made without webhooks, so that its first `notify` need not ask the store.
   * @internal
   */
  ignore(taskId: string): void
  /**
   * Says that a webhook of a task was stored, new or replaced; without its id, that some were.
   * @internal
   */
  watch(taskId: string, id?: string): void
  /**
   * Says that another replica has found something to deliver of a task.
   * @internal
   */
  heard(taskId: string): void
  /**
   * Says that a webhook was deleted: its attempt under way is broken off and nothing follows (§3.1.10).
   * @internal
   */
  forget(taskId: string, id: string): void
  /** Deliveries given up, newest first. */
  deadLetters(limit?: number): Promise<readonly DeadLetter[]>
  /**
   * Tries a delivery once more that was given up, out of order. What is delivered leaves the list.
   * @throws A2AError `invalidParams` if the letter, its webhook or its event is no longer there.
   */
  redrive(id: string): Promise<DeliveryOutcome>
  /** The last attempts at a webhook since the process began. */
  history(taskId: string, id: string): DeliveryHistory
  /** Begins nothing more, lets attempts under way end within the grace, breaks off the rest. May be called twice. */
  close(): Promise<void>
}

/** What webhooks work with. */
interface WebhooksOptions extends DeliverySettings {
  readonly store: Store
  readonly encode: EncodeWebhook
  /** Makes the guard, with the first delivery, or gives the one that there is. */
  readonly guard: () => Guard
  readonly clock?: Clock
  readonly log?: Logger
}

/** How events are delivered to webhooks: how long an attempt may take, how it is signed, how often it is tried. */
export interface DeliverySettings extends DeliveryRules {
  /** Gives numbers from 0 to 1 for the jitter between tries; `Math.random` if absent. */
  readonly random?: () => number
  /** How often and how long a delivery is tried; the defaults stand for what is left out. */
  readonly retry?: Partial<RetryPolicy>
  /** How many attempts run at once; the defaults stand for what is left out. */
  readonly limits?: DeliveryLimits
  /** How long `close` waits for attempts under way; 5 s by default. */
  readonly graceMs?: number
}

/**
 * Makes the webhooks of a server (specification §4.3). A webhook's cursor in the store is the only truth. It moves after
 * the receiver has answered, so a crash in between delivers the event again, under the same id, and never loses it.
 * Events are read from the log when their turn comes; what waits in memory is one small queue per webhook that is behind.
 */
export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { store, graceMs = 5_000 } = options
  const context = new DeliveryContext(options)
  const queues = new DeliveryQueues(context, (taskId) => look(taskId, false))
  const lookup = new WebhookLookup(context, queues)
  let closing: Promise<void> | undefined

  function look(taskId: string, isOurs: boolean): void {
    if (!closing) lookup.look(taskId, isOurs)
  }

  return {
    async start() {
      await queues.claim()
    },
    notify: (taskId) => look(taskId, true),
    ignore: (taskId) => lookup.ignore(taskId),
    watch(taskId, id) {
      lookup.changed(taskId)
      // Replicas must agree on which of them delivers it.
      if (id === undefined || store.feed) look(taskId, true)
      else if (!closing) queues.wake({ taskId, id })
    },
    heard(taskId) {
      lookup.changed(taskId)
      look(taskId, false)
    },
    forget: (taskId, id) => queues.end({ taskId, id }),
    deadLetters: (limit) => store.deadLetters(limit),
    history: (taskId, id) => context.memory.of({ taskId, id }),
    async redrive(id) {
      if (closing) throw new A2AError('unavailable', 'The webhooks are closed')
      return queues.run((signals) => redriveLetter(context, id, signals))
    },
    close() {
      closing ??= queues.close(graceMs)
      return closing
    },
  }
}

/** What deliveries share. What only an attempt needs is made with the first one: most servers call no webhook. */
export class DeliveryContext {
  readonly store: Store
  readonly encode: EncodeWebhook
  readonly clock: Clock
  readonly log: Logger
  /** A number in [0, 1). */
  readonly random: () => number
  readonly memory: AttemptMemory
  readonly retry: RetryPolicy
  readonly #options: WebhooksOptions
  #deliver: Deliver | undefined
  #principalOf: PrincipalOf | undefined
  #slots: Slots | undefined

  constructor(options: WebhooksOptions) {
    const { store, encode, clock = systemClock, log = silent, random = Math.random } = options
    this.#options = options
    this.store = store
    this.encode = encode
    this.clock = clock
    this.log = log
    this.random = random
    this.memory = new AttemptMemory(clock)
    this.retry = { ...standardRetry, ...options.retry }
  }

  get deliver(): Deliver {
    this.#deliver ??= createDeliver({
      ...this.#options,
      guard: this.#options.guard(),
      clock: this.clock,
      attempted: (delivery, facts) => {
        const { taskId, id } = delivery.record
        const at = toTimestamp(this.clock.now() - facts.ms)
        this.memory.attempted({ taskId, id }, { at, seq: delivery.seq, ...facts })
        this.#options.attempted?.(delivery, facts)
      },
    })
    return this.#deliver
  }

  get principalOf(): PrincipalOf {
    this.#principalOf ??= createPrincipals(this.store)
    return this.#principalOf
  }

  get slots(): Slots {
    this.#slots ??= new Slots(
      { total: 64, perHost: 8, ...this.#options.limits },
      () => this.store.feed?.replicas ?? 1,
    )
    return this.#slots
  }
}

/** What the store is asked of a task's webhooks. */
interface WebhookQuestion {
  /** Whether there is more to ask since. */
  again: boolean
  isOurs: boolean
}

/** How many tasks without webhooks are remembered; a forgotten one costs a read. */
const maxIgnored = 10_000

/** Asks the store which webhooks a task has, wakes their queues, and remembers the tasks that have none. */
class WebhookLookup {
  readonly #context: DeliveryContext
  readonly #queues: DeliveryQueues
  readonly #asking = new Map<string, WebhookQuestion>()
  readonly #ignored = new Set<string>()
  #changes = 0

  constructor(context: DeliveryContext, queues: DeliveryQueues) {
    this.#context = context
    this.#queues = queues
  }

  /** Asks, unless the task is known to have none; `isOurs` where its log has grown here, so that others are notified. */
  look(taskId: string, isOurs: boolean): void {
    if (this.#ignored.has(taskId)) return
    const known = this.#asking.get(taskId)
    if (known) {
      known.again = true
      known.isOurs ||= isOurs
      return
    }
    const question = { again: false, isOurs }
    this.#asking.set(taskId, question)
    void this.#queues.run(({ stop }) => this.#askAll(taskId, question, stop))
  }

  /** A task has no webhooks. */
  ignore(taskId: string): void {
    this.#ignored.add(taskId)
    if (this.#ignored.size <= maxIgnored) return
    const [oldest = ''] = this.#ignored
    this.#ignored.delete(oldest)
  }

  /** A task may have got some. */
  changed(taskId: string): void {
    this.#changes++
    this.#ignored.delete(taskId)
  }

  /** What comes in while we ask is asked once more, not once each. */
  async #askAll(taskId: string, question: WebhookQuestion, stop: AbortSignal): Promise<void> {
    do {
      question.again = false
      await persist(this.#context, stop, () => this.#ask(taskId, question))
    } while (question.again && !stop.aborted)
    this.#asking.delete(taskId)
  }

  /** Wakes the queues of a task's webhooks; those that another replica delivers are its to wake. */
  async #ask(taskId: string, { isOurs }: WebhookQuestion): Promise<void> {
    const { store } = this.#context
    const before = this.#changes
    const configs = await store.pushConfigs(taskId)
    const isShared = store.feed && configs.length > 0
    if (!isShared) for (const { id } of configs) this.#queues.wake({ taskId, id })
    else if ((await this.#queues.claim(taskId)) < configs.length && isOurs)
      store.feed?.wakeDeliveries(taskId)
    // A webhook that is stored while we read must not be ignored for good.
    if (configs.length === 0 && this.#changes === before) this.ignore(taskId)
  }
}

/**
 * Checks that a webhook can be called: its URL by the guard, its secrets as values of HTTP headers.
 *
 * @param given The config, and the path of the request's field that holds it; none where the request is the config itself.
 * @throws A2AError `invalidParams` that names the field, without its value.
 */
export function checkPushConfig(
  guard: Guard,
  { config, path = '' }: { readonly config: TaskPushNotificationConfig; readonly path?: string },
): void {
  const prefix = path === '' ? '' : `${path}.`
  guard.check(config.url, `${prefix}url`)
  const { token = '', authentication } = config
  if (!isHeaderValue(token)) throw unsendable(`${prefix}token`)
  if (!authentication) return
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(authentication.scheme))
    throw unsendable(`${prefix}authentication.scheme`)
  if (!isHeaderValue(authentication.credentials ?? ''))
    throw unsendable(`${prefix}authentication.credentials`)
}

/** Visible ASCII, blanks between (RFC 9110 §5.5). */
function isHeaderValue(text: string): boolean {
  return /^[\x20-\x7e\t]*$/.test(text)
}

function unsendable(field: string): A2AError {
  const description = 'cannot be sent in an HTTP header'
  return new A2AError('invalidParams', `${field} ${description}`, {
    violations: [{ field, description }],
  })
}
