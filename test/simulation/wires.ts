import { A2AError } from '../../src/protocol/errors.ts'
import { wait } from '../../src/shared/async.ts'
import { BrokenConnection, type Connection, type Link } from './network.ts'
import type { VirtualProcess, World } from './world.ts'

/** How a replica's store reaches the database: one connection that writes and a few that read, opened again when they break. */
export interface Wires {
  /**
   * Does something at the database, again where the connection breaks meanwhile.
   * @param work Told the number of the try, from 1: whether it happened before is not known from the second on.
   * @throws A2AError `unavailable` when it has been tried for long enough.
   */
  use<T>(
    kind: 'writer' | 'reader',
    work: (connection: Connection, attempt: number) => Promise<T>,
  ): Promise<T>
  /** Ends what is under way, and takes nothing more. */
  close(): Promise<void>
}

/** What the wires of a process are made of. */
export interface WiresOptions {
  readonly world: World
  readonly process: VirtualProcess
  readonly link: Link
  /** How long something is tried. */
  readonly timeoutMs: number
}

const readers = 2

/** Makes the wires of a process. */
export function createWires({ world, process, link, timeoutMs }: WiresOptions): Wires {
  const { clock } = process
  const open = new Map<string, Promise<Connection>>()
  const underway = new Set<Promise<unknown>>()
  let turn = 0
  let closed = false

  async function connection(kind: 'writer' | 'reader'): Promise<Connection> {
    const name = kind === 'writer' ? kind : `reader ${turn++ % readers}`
    const known = await open.get(name)?.catch(() => undefined)
    if (known && !known.broken) return known
    const opened = link.connect(name)
    open.set(name, opened)
    return opened
  }

  async function attempts<T>(
    kind: 'writer' | 'reader',
    work: (connection: Connection, attempt: number) => Promise<T>,
  ): Promise<T> {
    const began = clock.elapsed()
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(await connection(kind), attempt)
      } catch (thrown) {
        if (!(thrown instanceof BrokenConnection)) throw thrown
        if (clock.elapsed() - began > timeoutMs)
          throw new A2AError('unavailable', 'The database cannot be reached', { cause: thrown })
      }
      await wait(clock, world.random.between(5, 50))
    }
  }

  return {
    async use(kind, work) {
      if (closed) throw new A2AError('unavailable', 'The store is closed')
      const done = attempts(kind, work)
      underway.add(done)
      try {
        return await done
      } finally {
        underway.delete(done)
      }
    },
    async close() {
      closed = true
      await Promise.allSettled(underway)
      for (const one of open.values())
        one.then(
          (connected) => connected.close(),
          () => {},
        )
    },
  }
}
