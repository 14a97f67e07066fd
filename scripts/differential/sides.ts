import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { Ledger, Pair } from './ledger.ts'
import { type Answer, Connection, type Request, type Waiting } from './wire.ts'

/** What is compared, and how much of it. */
export interface Setup {
  /** The folders of the two builds. */
  readonly roots: Pair<string>
  readonly ledger: Ledger
  /** A folder for files, gone afterwards. */
  readonly folder: string
  readonly seed: number
  readonly requests: number
  /** Tells how far an area is. */
  progress(area: string, done: number, of: number): void
}

/** How a server of each build is started. */
export interface ServerChoice {
  /** A row of `kinds` in `subject.ts`. */
  readonly kind: string
  /** Where each side stores its tasks; in memory if absent. */
  readonly stores?: Pair<string>
  /** How often servers have been started on these stores. */
  readonly generation?: number
  /** The point at which both are to be killed. */
  readonly killAt?: string
}

/** A process that serves one build. */
export class Side {
  readonly #child: ChildProcess
  readonly #ready: Promise<{ readonly port: number; readonly recovery: unknown }>
  /** Resolves when the agent is at the point where the process is to be killed. */
  readonly reached: Promise<void>
  #connection: Connection | undefined
  #control: Connection | undefined
  #last: Promise<string> = Promise.resolve('')
  #releasing = false

  constructor(root: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    const options = { execArgv: ['--import', 'tsx'], env: { ...process.env, ...env } }
    this.#child = fork(join(import.meta.dirname, 'subject.ts'), [root, ...args], options)
    let reach = (): void => {}
    this.reached = new Promise((resolve) => {
      reach = resolve
    })
    this.#ready = new Promise((resolve, reject) => {
      this.#child.on(
        'message',
        (message: { readonly port: number; readonly recovery: unknown }) => {
          if ('port' in message) resolve(message)
          else reach()
        },
      )
      this.#child.once('exit', (code) =>
        reject(new Error(`A server of ${root} ended with ${code}`)),
      )
    })
  }

  /** Waits until it serves, and says where and what it recovered. */
  async start(): Promise<{ readonly port: number; readonly recovery: unknown }> {
    const { port } = await this.#ready
    this.#connection = new Connection(port)
    this.#control = new Connection(port)
    return this.#ready
  }

  get connection(): Connection {
    if (!this.#connection) throw new Error('The server has not started')
    return this.#connection
  }

  /** Asks one of the harness's own paths, after what was asked before. */
  control(what: string): Promise<string> {
    const request = { method: 'GET', target: `/_still/${what}`, headers: [] }
    const answer = this.#last.then(async () => (await this.#control?.ask(request))?.body ?? '')
    this.#last = answer
    return answer
  }

  /** Lets turns that hold go on, unless that is already under way. */
  release(): void {
    if (this.#releasing) return
    this.#releasing = true
    void this.control('release').then(() => {
      this.#releasing = false
    })
  }

  /** Ends it, by SIGKILL or after it has closed, and waits for its end. */
  async stop(how: 'kill' | 'close'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    if (how === 'kill') this.#child.kill('SIGKILL')
    else this.#child.send('close')
    this.#connection?.close()
    this.#control?.close()
    await ended
  }
}

/** The same server of both builds. What is asked of one is asked of the other, and the answers are compared. */
export class Sides {
  readonly sides: Pair<Side>
  readonly #ledger: Ledger
  #stalled = false

  private constructor(sides: Pair<Side>, ledger: Ledger) {
    this.sides = sides
    this.#ledger = ledger
  }

  /** Starts both; their recoveries are compared as well. */
  static async start(area: string, setup: Setup, choice: ServerChoice): Promise<Sides> {
    const { roots, ledger } = setup
    const { kind, stores = ['memory', 'memory'], generation = 0, killAt = '' } = choice
    const clock = stores[0].startsWith('postgres:') ? { STILL_CLOCK: 'real' } : {}
    const env = { STILL_GENERATION: String(generation), STILL_KILL_AT: killAt, ...clock }
    const sides: Pair<Side> = [
      new Side(roots[0], [kind, stores[0]], env),
      new Side(roots[1], [kind, stores[1]], env),
    ]
    const [before, after] = await both(sides, (side) => side.start())
    if (generation === 0) ledger.begin([before.port, after.port])
    else ledger.move([before.port, after.port])
    const recovered = [JSON.stringify(before.recovery), JSON.stringify(after.recovery)] as const
    ledger.compare(area, `start of ${kind}`, recovered)
    return new Sides(sides, ledger)
  }

  /** Asks both the same, compares what they answer, and gives this build's body with ids by their numbers. */
  async ask(area: string, request: Request, waiting: Waiting = {}): Promise<string> {
    const answers = await this.#askBoth(request, waiting)
    const shown = showsWebhooks(request) ? withoutAttempts(answers) : answers
    this.#ledger.compareAnswers(area, describe(request), shown)
    if (!this.#stalled && !mayHold(request)) await this.settle()
    // Which of several turns that held were let go on depends on time: afterwards none holds, on either side.
    else await this.drain()
    return this.#ledger.toTemplate(answers[1].body)
  }

  /**
   * Asks both for an answer that comes while the turn runs: how far a turn is by then is a matter of time where commits take
   * some. Only the status and the task's id are compared; what became of the task is there to be read afterwards.
   */
  async begin(area: string, request: Request, unsettled?: 'unsettled'): Promise<string> {
    const answers = await this.#askBoth(request, {})
    const short = ({ head, body, whole }: Answer): Answer => ({
      head: head.split('\n', 1)[0] ?? '',
      body: /"id":"(?:task-)?[0-9a-f-]{36}"/.exec(body)?.[0] ?? body,
      whole,
    })
    const shown = [short(answers[0]), short(answers[1])] as const
    this.#ledger.compareAnswers(area, describe(request), shown)
    if (!unsettled) await this.settle()
    return this.#ledger.toTemplate(shown[1].body)
  }

  /** Asks both and compares the answers after `shorten`, for pages that hold times or counts. */
  async askShortened(
    area: string,
    request: Request,
    shorten: (body: string) => string,
  ): Promise<void> {
    const [before, after] = await this.#askBoth(request, {})
    const pair: Pair<Answer> = [
      { ...before, head: withoutLength(before.head), body: shorten(before.body) },
      { ...after, head: withoutLength(after.head), body: shorten(after.body) },
    ]
    this.#ledger.compareAnswers(area, describe(request), pair)
  }

  /** Sends bytes that are hardly a request, and compares all that comes back until the connection is closed. */
  async throwAt(area: string, bytes: Uint8Array): Promise<void> {
    const [before, after] = await both(this.sides, (side) => side.connection.throwAt(bytes))
    const undated = (text: string): string => text.replace(/^Date: .*$/gim, 'Date: …')
    this.#ledger.of(area).requests++
    this.#ledger.compare(area, JSON.stringify(Buffer.from(bytes).toString('latin1')), [
      undated(before),
      undated(after),
    ])
  }

  /** Waits on both until no turn runs but those that hold. */
  async settle(): Promise<void> {
    await both(this.sides, (side) => side.control('settle'))
  }

  /** Waits on both until a task has ended. */
  async ended(agent: string, template: string): Promise<void> {
    const ids = this.#ledger.fill(template)
    await both(this.sides, (side, i) => side.control(`ended/${agent}/${ids[i]}`))
  }

  /** Lets turns go on, on both, until none holds. */
  async drain(): Promise<void> {
    await both(this.sides, (side) => side.control('drain'))
  }

  /** Compares what webhooks have delivered since the last time. */
  async compareDeliveries(area: string): Promise<void> {
    this.#ledger.compare(
      area,
      'webhooks delivered',
      await both(this.sides, (side) => side.control('delivered')),
    )
  }

  /** Resolves when both are at the point where they are to be killed. */
  async reached(): Promise<void> {
    await both(this.sides, (side) => side.reached)
  }

  async stop(how: 'kill' | 'close' = 'kill'): Promise<void> {
    await both(this.sides, (side) => side.stop(how))
  }

  #askBoth(request: Request, waiting: Waiting): Promise<Pair<Answer>> {
    this.#stalled = false
    const quick = mayHold(request) ? { stallMs: 30 } : {}
    const open = isSubscription(request) ? { longestMs: 600, enough: staysOpenAsked } : {}
    const [target, body] = [
      this.#ledger.fill(request.target),
      this.#ledger.fill(request.body ?? ''),
    ]
    return both(this.sides, (side, i) => {
      const own = {
        ...request,
        target: target[i] ?? '',
        ...(request.body !== undefined && { body: body[i] ?? '' }),
      }
      const stalled = (): void => {
        this.#stalled = true
        side.release()
      }
      return side.connection.ask(own, { stalled, enough: staysOpen, ...quick, ...open, ...waiting })
    })
  }
}

/** Does the same with both sides at once. */
export async function both<S, T>(
  [before, after]: Pair<S>,
  work: (side: S, index: number) => Promise<T>,
): Promise<Pair<T>> {
  const [first, second] = await Promise.all([work(before, 0), work(after, 1)])
  return [first, second]
}

/** Whether a request may wait for a turn that holds: by what it says, so that it is the same for both sides. */
function mayHold({ target, body = '' }: Request): boolean {
  if (isSubscription({ target, body })) return true
  if (!/"(?:hold|mute)\b/.test(body)) return false
  if (/stream/i.test(target) || /tream/.test(body)) return true
  return !/"returnImmediately":true|"blocking":false|"immediate":false/.test(body)
}

function isSubscription({ target, body = '' }: Pick<Request, 'target' | 'body'>): boolean {
  return /subscribe/i.test(target) || /subscribe/i.test(body)
}

/** A stream of a task that waits for a login goes on, with nothing to come. */
function staysOpen(body: string): boolean {
  return body.endsWith('\n\n') && /AUTH_REQUIRED|auth-required/.test(lastFrame(body))
}

/** So does one that was asked for while the task waits for an answer. */
function staysOpenAsked(body: string): boolean {
  return (
    body.endsWith('\n\n') && /(AUTH|INPUT)_REQUIRED|(auth|input)-required/.test(lastFrame(body))
  )
}

function lastFrame(body: string): string {
  return body.slice(body.lastIndexOf('\n\n', body.length - 3))
}

function showsWebhooks({ target }: Request): boolean {
  return /^\/console\/api\/(tasks\/|webhooks)/.test(target)
}

/** How far webhooks are is a matter of time: what was delivered is compared at the end. */
function withoutAttempts([before, after]: Pair<Answer>): Pair<Answer> {
  const cut = ({ head, body, whole }: Answer): Answer => ({
    head: withoutLength(head),
    body: body.replace(
      /"cursor":\d+,"lag":\d+,"state":"[^"]*"(,"nextAt":"[^"]*")?(,"attempts":\[[^\]]*\])?/g,
      '…',
    ),
    whole,
  })
  return [cut(before), cut(after)]
}

function withoutLength(head: string): string {
  return head.replace(/^(content-length|etag): .*$/gim, '$1: …')
}

/** A request for people: what it takes to send it again with curl. */
function describe({ method, target, headers, body = '' }: Request): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  const shown = body.length > 1_000 ? `${body.slice(0, 1_000)}… (${body.length} characters)` : body
  return [`${method} ${target}`, ...lines, ...(shown === '' ? [] : ['', shown])].join('\n')
}
