import type { Agent, AgentEvent, AgentReply, Turn } from '../agents/agent.ts'
import { wrapAgent } from '../agents/wrap.ts'
import type { HttpReply } from '../bindings/http.ts'
import { hasCode } from '../protocol/errors.ts'
import { addUsage, toAmounts, type Usage, usageOf } from '../protocol/extensions.ts'
import type { OperationName } from '../protocol/operations.ts'
import type { JsonObject, TaskState } from '../protocol/types.ts'
import { isAsyncIterable } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { type Logger, tellsAll } from '../shared/log.ts'
import type { LogRecord } from '../store/store.ts'

/** Counts what a server does, for `/metrics` in Prometheus' text format. */
export interface Metrics {
  /** Counts an operation by its outcome and how long it took. */
  observe(operation: OperationName, outcome: string, ms: number): void
  /** How long a turn ran, once it had a slot. */
  turn(ms: number): void
  /** How long a turn waited for its slot. */
  waited(ms: number): void
  /** How long the store took for one commit. */
  commit(ms: number): void
  /** How long an attempt at a webhook took: `delivered`, `retry` or `refused`. */
  webhook(outcome: string, ms: number): void
  /** Reads from stored records what members of teams took, and what they and models used and cost. */
  stored(records: readonly LogRecord[]): void
  page(gauges: Readonly<Record<string, number>>): HttpReply
}

interface Counter {
  readonly operation: OperationName
  readonly outcome: string
  count: number
  seconds: number
  readonly times: Histogram
}

/** Makes the counters of a server. */
export function createMetrics(): Metrics {
  const counters = new Map<OperationName, Map<string, Counter>>()
  const turns = new Histogram(seconds)
  const waits = new Histogram(seconds)
  const commits = new Histogram(seconds)
  const webhooks = createSeries({
    name: 'corral_webhook_attempt_seconds',
    help: 'Attempts at webhooks by their outcome.',
    labels: ['outcome'],
    bounds: seconds,
  })
  const traced = createTracedSeries()

  function counterOf(operation: OperationName, outcome: string): Counter {
    const outcomes = counters.get(operation) ?? new Map<string, Counter>()
    counters.set(operation, outcomes)
    const fresh = { operation, outcome, count: 0, seconds: 0, times: new Histogram(seconds) }
    const counter = outcomes.get(outcome) ?? fresh
    outcomes.set(outcome, counter)
    return counter
  }

  return {
    observe(operation, outcome, ms) {
      const counter = counters.get(operation)?.get(outcome) ?? counterOf(operation, outcome)
      counter.count++
      counter.seconds += ms / 1000
      counter.times.observe(ms / 1000)
    },
    turn: (ms) => turns.observe(ms / 1000),
    waited: (ms) => waits.observe(ms / 1000),
    commit: (ms) => commits.observe(ms / 1000),
    webhook: (outcome, ms) => webhooks.observe(ms / 1000, outcome),
    stored(records) {
      for (const record of records) if (record.kind === 'trace') traced.take(record.entry)
    },
    page(gauges) {
      const all = [...counters.values()].flatMap((outcomes) => [...outcomes.values()])
      const lines = [
        ...operationLines(all),
        ...plain('corral_turn_seconds', 'How long turns ran once they had a slot.', turns),
        ...plain('corral_queue_wait_seconds', 'How long turns waited for a slot.', waits),
        ...plain('corral_store_commit_seconds', 'How long the store took to commit.', commits),
        ...webhooks.lines(),
        ...traced.lines(),
        ...Object.entries(gauges).flatMap(([name, value]) => [
          `# TYPE corral_${name} gauge`,
          `corral_${name} ${value}`,
        ]),
      ]
      return {
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4' },
        body: `${lines.join('\n')}\n`,
      }
    },
  }
}

function operationLines(all: readonly Counter[]): readonly string[] {
  const name = 'corral_request_seconds'
  return [
    '# TYPE corral_operations_total counter',
    ...all.map((one) => `corral_operations_total{${labels(one)}} ${one.count}`),
    '# TYPE corral_operation_seconds_total counter',
    ...all.map((one) => `corral_operation_seconds_total{${labels(one)}} ${one.seconds.toFixed(6)}`),
    ...(all.length > 0 ? metricHead(name, 'Requests by operation and outcome.', 'histogram') : []),
    ...all.flatMap((one) => one.times.lines(name, labels(one))),
  ]
}

function plain(name: string, help: string, histogram: Histogram): readonly string[] {
  return [...metricHead(name, help, 'histogram'), ...histogram.lines(name, '')]
}

function labels({ operation, outcome }: Counter): string {
  return `operation="${operation}",outcome="${escaped(outcome)}"`
}

/** One metric in several series, by their labels. */
interface Series {
  /** Counts a value in the series of these labels, in the order of their names. */
  observe(value: number, first: string, second?: string): void
  /** The lines of all series, the metric's own before them; none where nothing was counted. */
  lines(): readonly string[]
}

/** What a metric is. */
interface SeriesOptions {
  readonly name: string
  readonly help: string
  /** One or two names. */
  readonly labels: readonly [string] | readonly [string, string]
  readonly bounds: readonly number[]
}

/** Names beyond this many are counted together: a label is no place for what strangers make up. */
const maxSeries = 200

const others = 'other'

/** Makes a metric without series; each is made with its first value. */
export function createSeries({ name, help, labels, bounds }: SeriesOptions): Series {
  const all = new Map<string, Map<string, Histogram>>()
  let count = 0

  function make(first: string, second: string): Histogram {
    if (count >= maxSeries && first !== others) return find(others, others)
    const seconds = all.get(first) ?? new Map<string, Histogram>()
    all.set(first, seconds)
    const fresh = new Histogram(bounds)
    seconds.set(second, fresh)
    count++
    return fresh
  }

  function find(first: string, second: string): Histogram {
    return all.get(first)?.get(second) ?? make(first, second)
  }

  return {
    observe: (value, first, second = '') => find(first, second).observe(value),
    lines() {
      if (count === 0) return []
      const [firstName, secondName] = labels
      const lines = [...metricHead(name, help, 'histogram')]
      for (const [first, seconds] of all)
        for (const [second, histogram] of seconds) {
          const pair = secondName === undefined ? '' : `,${secondName}="${escaped(second)}"`
          lines.push(...histogram.lines(name, `${firstName}="${escaped(first)}"${pair}`))
        }
      return lines
    },
  }
}

/** What goes before the samples of a metric. */
function metricHead(name: string, help: string, type: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

/** A label's value as the text format writes it. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

/** What the traces of tasks tell: how long members of teams took, and what they and models used and cost. */
interface TracedSeries {
  /** Counts an entry of a trace, where it tells such a thing. */
  take(entry: TracedEntry): void
  lines(): readonly string[]
}

/** What is read of an entry of the trace. */
interface TracedEntry {
  readonly type?: unknown
  readonly member?: unknown
  readonly agent?: unknown
  readonly durationMs?: unknown
  readonly inputTokens?: unknown
  readonly outputTokens?: unknown
  readonly costUsd?: unknown
}

/** Makes such series, without a value yet. */
function createTracedSeries(): TracedSeries {
  const members = createSeries({
    name: 'corral_member_call_seconds',
    help: 'Calls of the members of teams by their outcome.',
    labels: ['member', 'outcome'],
    bounds: seconds,
  })
  const tokens = createSeries({
    name: 'corral_tokens',
    help: 'Tokens of one answer, by who told them (a model, or a member with all that it asked) and by direction.',
    labels: ['source', 'direction'],
    bounds: tokenCounts,
  })
  const costs = createSeries({
    name: 'corral_cost_usd',
    help: 'What answers cost in US dollars, by who told it (a model, or a member with all that it asked) and by its name.',
    labels: ['source', 'name'],
    bounds: dollars,
  })

  function take(entry: TracedEntry): void {
    const { type, member, agent, durationMs, inputTokens, outputTokens, costUsd } = entry
    const isCall = type === 'reply' || type === 'failure'
    if (!isCall && type !== 'model') return
    if (isCall && typeof member === 'string' && typeof durationMs === 'number')
      members.observe(durationMs / 1000, member, type === 'reply' ? 'ok' : 'failed')
    const source = isCall ? 'member' : 'model'
    if (typeof inputTokens === 'number') tokens.observe(inputTokens, source, 'input')
    if (typeof outputTokens === 'number') tokens.observe(outputTokens, source, 'output')
    const name = isCall ? member : agent
    if (typeof costUsd === 'number' && typeof name === 'string')
      costs.observe(costUsd, source, name)
  }

  return {
    take,
    lines: () => [members, tokens, costs].flatMap((series) => series.lines()),
  }
}

/**
 * A histogram as Prometheus counts it: how many values were at most each bound, how many there were, and their sum. Its
 * buckets are fixed when it is made, so that a value costs a few comparisons and no memory.
 */
class Histogram {
  readonly #bounds: Float64Array
  /** Values by the first bound that they do not exceed; the last place is for those beyond all. */
  readonly #counts: Float64Array
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds)
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && value > (bounds[at] ?? 0)) at++
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#sum += value
  }

  /** The lines of one series; `labels` go before `le` and may be empty. */
  lines(name: string, labels: string): readonly string[] {
    const start = labels === '' ? '' : `${labels},`
    const own = labels === '' ? '' : `{${labels}}`
    let total = 0
    const buckets = [...this.#counts].map((count, at) => {
      total += count
      const bound = this.#bounds[at]
      return `${name}_bucket{${start}le="${bound === undefined ? '+Inf' : bound}"} ${total}`
    })
    return [...buckets, `${name}_sum${own} ${toNumber(this.#sum)}`, `${name}_count${own} ${total}`]
  }
}

/** Bounds for what takes microseconds to minutes, in seconds. */
const seconds: readonly number[] = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
]

/** Bounds for tokens. */
const tokenCounts: readonly number[] = [10, 100, 500, 1_000, 5_000, 10_000, 50_000, 200_000]

/** Bounds for the costs of an answer, in US dollars. */
const dollars: readonly number[] = [0.0001, 0.001, 0.01, 0.05, 0.1, 0.5, 1, 5]

/** So many digits are kept that sums of microseconds do not end in noise. */
function toNumber(sum: number): string {
  return String(Number(sum.toFixed(6)))
}

/** Where an agent's turns are told. */
interface TurnLogOptions {
  readonly id: string
  readonly logger: Logger
  readonly clock: Clock
}

/** The agent, whose turns are told one line each where the logger wants that; else the agent as it is. */
export function withTurnLog(agent: Agent, options: TurnLogOptions): Agent {
  if (!tellsAll(options.logger)) return agent
  return wrapAgent(agent, {
    process: (ask, _message, turn) => new ToldTurn(turn, options).read(() => ask(turn)),
  })
}

/** One turn, and what is to be said of it when it is over. */
class ToldTurn {
  readonly #turn: Turn
  readonly #options: TurnLogOptions
  readonly #began: number
  #state: TaskState = 'TASK_STATE_COMPLETED'
  #failed = false
  /** What the pieces of the answer say that they cost, and what is said of the whole. */
  #parts: Usage | undefined
  #total: Usage | undefined

  constructor(turn: Turn, options: TurnLogOptions) {
    this.#turn = turn
    this.#options = options
    this.#began = options.clock.elapsed()
  }

  read(ask: () => AgentReply): AgentReply {
    try {
      const reply = ask()
      if (isAsyncIterable(reply)) return this.#follow(reply as AsyncIterable<AgentEvent>) // the contract's only iterable
      if (reply instanceof Promise) return this.#settle(reply)
      this.#note(reply)
      this.#tell()
      return reply
    } catch (thrown) {
      this.#fail()
      throw thrown
    }
  }

  async #settle<T>(reply: Promise<T>): Promise<T> {
    try {
      const answer = await reply
      this.#note(answer)
      this.#tell()
      return answer
    } catch (thrown) {
      this.#fail()
      throw thrown
    }
  }

  async *#follow(events: AsyncIterable<AgentEvent>): AsyncGenerator<AgentEvent> {
    try {
      for await (const event of events) {
        this.#note(event)
        yield event
      }
    } catch (thrown) {
      this.#failed = true
      throw thrown
    } finally {
      this.#tell()
    }
  }

  #note(said: unknown): void {
    if (typeof said !== 'object' || said === null) return
    // What an agent says is checked by whoever takes it in; here only what has the right form counts.
    const { task, statusUpdate, artifactUpdate } = said as Partial<Record<string, Noted>>
    this.#state = (task ?? statusUpdate)?.status?.state ?? this.#state
    this.#total = usageOf((task ?? statusUpdate)?.metadata) ?? this.#total
    for (const artifact of task?.artifacts ?? [artifactUpdate?.artifact])
      this.#parts = addUsage(this.#parts, usageOf(artifact?.metadata))
  }

  #fail(): void {
    this.#failed = true
    this.#tell()
  }

  /** A turn that was ended from outside is no failure of the agent: its task is cancelled, or taken up again later. */
  #outcome(): string {
    if (!this.#failed) return this.#state.replace('TASK_STATE_', '').toLowerCase()
    const { aborted, reason } = this.#turn.signal
    if (!aborted) return 'failed'
    return hasCode(reason, 'taskCanceled') ? 'canceled' : 'interrupted'
  }

  #tell(): void {
    const { id, logger, clock } = this.#options
    const { taskId, caller } = this.#turn
    const used = this.#total ?? this.#parts
    logger.info(
      {
        agent: id,
        caller: caller.userId || 'anonymous',
        taskId,
        state: this.#outcome(),
        ms: Math.round(clock.elapsed() - this.#began),
        ...(used && toAmounts(used)),
      },
      'Turn ended',
    )
  }
}

/** What of an event, or of a task, is told. */
interface Noted {
  readonly status?: { readonly state?: TaskState }
  readonly metadata?: JsonObject
  readonly artifact?: { readonly metadata?: JsonObject }
  readonly artifacts?: readonly { readonly metadata?: JsonObject }[]
}
