import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { createDeferred } from '../../src/shared/async.ts'
import { openSqliteStore } from '../../src/store/sqlite.ts'
import { type Audit, audit } from './audit.ts'
import { createCaller } from './caller.ts'
import { createHooks } from './hooks.ts'
import { type Count, createLedger, type Ledger } from './ledger.ts'
import { createServerProcess, type ServerProcess } from './process.ts'
import { createRandom, type Random } from './random.ts'
import { work } from './workload.ts'

/** How hard it is. */
export interface TortureOptions {
  readonly kills: number
  readonly seed: number
  /** How many callers there are at once; 12 if absent. */
  readonly callers?: number
  /** Told after each kill. */
  progress?(kills: number): void
}

/** What was done, what was found, and what must be empty: the violations. */
export interface TortureReport {
  readonly seed: number
  /** Where the files are, if there are violations. */
  readonly folder: string
  readonly kills: number
  /** Of the kills, those that came while the server was starting. */
  readonly killsWhileStarting: number
  readonly seconds: number
  readonly followers: number
  readonly reconnects: number
  readonly counts: Readonly<Record<Count, number>>
  readonly audit: Audit
  readonly deadLetters: number
  readonly violations: readonly string[]
}

const agents = ['stream', 'slow', 'brittle', 'ask', 'team']
const settleMs = 120_000

/**
 * Lets callers loose on a server, kills it again and again at points of its own making, and holds what is left in the
 * file against a ledger that was kept outside. When a kill comes is decided by signs of life (answers, events,
 * webhooks), not by the clock, so that a slow machine is tortured as much as a fast one.
 */
export async function torture(options: TortureOptions): Promise<TortureReport> {
  const { kills, seed, callers = 12 } = options
  const began = Date.now()
  const random = createRandom(seed)
  const folder = await mkdtemp(join(tmpdir(), 'corral-torture-'))
  const file = join(folder, 'tasks.db')
  const effects = join(folder, 'effects.log')
  await writeFile(effects, '')
  const signs = createSigns()
  const ledger = createLedger(signs.sign)
  const hooks = await createHooks(createRandom(seed + 1), signs.sign)
  const server = createServerProcess({ file, effects })
  const caller = createCaller(server.url)
  const stop = new AbortController()
  try {
    const around = { server, caller, hooks, ledger, random, sign: signs.sign }
    const working = Promise.all(
      Array.from({ length: callers }, (_, number) => work(around, number, stop.signal)),
    )
    const killsWhileStarting = await killOften(options, { server, random, signs })
    await server.start()
    stop.abort()
    await settle({ server, ledger, working })
    const code = await server.stop()
    if (code !== 0) ledger.violation(`The last stop ended with ${code}`)
    const store = await openSqliteStore(file)
    try {
      return {
        seed,
        folder,
        kills,
        killsWhileStarting,
        seconds: Math.round((Date.now() - began) / 1000),
        followers: ledger.followers.length + ledger.clients.length,
        reconnects: ledger.followers.reduce((sum, { connections }) => sum + connections - 1, 0),
        counts: ledger.counts,
        audit: await audit(store, { ledger, hooks, effects, agents }),
        deadLetters: (await store.deadLetters()).length,
        violations: ledger.violations,
      }
    } finally {
      await store.close()
    }
  } finally {
    await server.kill()
    await caller.close()
    await hooks.close()
    // What was found wrong can be looked into.
    if (ledger.violations.length === 0) await rm(folder, { recursive: true, force: true })
  }
}

/** Signs of life: whoever waits for a number of them is woken by the last. */
interface Signs {
  sign(): void
  after(count: number): Promise<void>
}

function createSigns(): Signs {
  let left = 0
  let reached = createDeferred<void>()
  return {
    sign() {
      if (--left === 0) reached.resolve()
    },
    after(count) {
      left = count
      reached = createDeferred()
      return reached.promise
    },
  }
}

async function killOften(
  { kills, progress }: TortureOptions,
  { server, random, signs }: { server: ServerProcess; random: Random; signs: Signs },
): Promise<number> {
  let whileStarting = 0
  for (let count = 1; count <= kills; count++) {
    // The first start makes the file and finds the port.
    if (count > 1 && random.chance(0.1)) {
      whileStarting++
      await server.startAndKill(random.between(20, 400))
    } else {
      await server.start()
      await signs.after(random.between(1, random.pick([5, 60, 300])))
      await new Promise((resolve) => setTimeout(resolve, random.between(0, 10)))
      await server.kill()
    }
    progress?.(count)
  }
  return whileStarting
}

/** Waits until every caller is done and the server has nothing left to do. */
async function settle(rest: {
  readonly server: ServerProcess
  readonly ledger: Ledger
  readonly working: Promise<unknown>
}): Promise<void> {
  const { server, ledger, working } = rest
  const deadline = Date.now() + settleMs
  let callersDone = false
  void working.then(() => (callersDone = true))
  for (;;) {
    const { body } = await request(`${server.url()}/left`)
    // What server.mjs answers there.
    const left = (await body.json()) as { readonly tasks: number; readonly webhooks: number }
    if (callersDone && left.tasks === 0 && left.webhooks === 0) return
    if (Date.now() > deadline) {
      ledger.violation(`It does not settle: ${JSON.stringify({ callersDone, ...left })}`)
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
