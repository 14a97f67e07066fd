import { isTerminal } from '../../src/protocol/task.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import { type Caller, type Question, Refusal, type Told } from './caller.ts'
import type { Follower, Ledger } from './ledger.ts'

/** What listening needs. */
interface Around {
  readonly caller: Caller
  readonly ledger: Ledger
  /** Told of every sign of life. */
  sign(): void
  /** Told of every event but the last. */
  reached?(point: 'stream', taskId: string): void
}

/** Listens to one task, over one connection after the other. */
export class Listening {
  readonly agent: string
  follower: Follower | undefined
  readonly #around: Around
  #connections = 0
  #holder: number | undefined

  constructor(around: Around, agent: string) {
    this.#around = around
    this.agent = agent
  }

  /** The last event that was seen. */
  get seq(): number {
    return this.follower?.seen.at(-1)?.seq ?? 0
  }

  get isOver(): boolean {
    return hasEnded(this.follower?.seen.at(-1)?.event)
  }

  /** Reads a stream until it ends or breaks. @throws Refusal for an error of the server. */
  async hear(question: Question): Promise<void> {
    this.#connections++
    const answeredBy = (replica: number): void => this.#answered(replica)
    try {
      for await (const told of this.#around.caller.stream({ ...question, answeredBy }))
        this.#take(told)
    } catch (error) {
      if (error instanceof Refusal) throw error
    }
  }

  #answered(replica: number): void {
    this.#holder = replica
    if (!this.follower) return
    this.follower.holder = replica
    this.follower.connections = this.#connections
  }

  #take(told: Told): void {
    const { sign, ledger, reached } = this.#around
    sign()
    this.follower ??= begin(ledger, this.agent, told)
    this.follower.holder = this.#holder
    this.follower.connections = this.#connections
    this.follower.seen.push(told)
    this.follower.heard.push({ at: Date.now(), connection: this.#connections })
    if (!hasEnded(told.event)) reached?.('stream', this.follower.id)
  }
}

function begin(ledger: Ledger, agent: string, { event }: Told): Follower {
  if (!('task' in event)) throw new Error('A stream begins with its task')
  ledger.acknowledge(agent, event.task)
  const { id } = event.task
  const seen = { seen: [], heard: [], connections: 1, holder: undefined }
  const follower: Follower = { id, agent, ...seen }
  ledger.followers.push(follower)
  return follower
}

function hasEnded(event: StreamResponse | undefined): boolean {
  if (!event || 'message' in event || 'artifactUpdate' in event) return false
  return isTerminal(('task' in event ? event.task : event.statusUpdate).status.state)
}
