import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { request } from 'undici'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { type Audit, audit } from './audit.ts'
import { createCaller } from './caller.ts'
import { createHooks } from './hooks.ts'
import { type Count, createLedger, type Ledger } from './ledger.ts'
import { createServerProcess, type ServerProcess } from './process.ts'
import { createRandom } from './random.ts'
import { createSigns, type Signs } from './signs.ts'
import { type Surroundings, sabotage, work } from './workload.ts'

/** How hard it is. */
export interface TortureOptions {
  readonly kills: number
  readonly seed: number
  /** Clean restarts with SIGTERM between the kills; one for five kills if absent. */
  readonly stops?: number
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
  readonly stops: number
  /** Kills of the server that has the teams' remote members. */
  readonly remoteKills: number
  /** Deaths that tasks brought about. */
  readonly ownDeaths: number
  readonly seconds: number
  readonly followers: number
  readonly reconnects: number
  readonly counts: Readonly<Record<Count, number>>
  readonly audit: Audit
  readonly deadLetters: number
  readonly violations: readonly string[]
}

/** The agents that are tortured, but for those that only replicas have. */
export const torturedAgents = [
  ...['stream', 'slow', 'brittle', 'ask', 'guide', 'team', 'outing', 'bomb', 'stepper'],
  ...['flow', 'nested', 'pair', 'press', 'distant'],
]
const settleMs = 600_000
/** Running turns may end when the server stops; none takes so long. */
const shutdownMs = 5_000

/**
 * Lets callers loose on a server, kills it again and again at points of its own making, and holds what is left in the
 * file against a ledger that was kept outside. When a kill comes is decided by signs of life (answers, events,
 * webhooks), not by the clock, so that a slow machine is tortured as much as a fast one. A second server has the teams'
 * remote members and is killed now and then too; and some tasks kill the server by themselves.
 */
export async function torture(options: TortureOptions): Promise<TortureReport> {
  const { seed, callers = 12 } = options
  const began = Date.now()
  const random = createRandom(seed)
  const folder = await mkdtemp(join(tmpdir(), 'corral-torture-'))
  const [file, remoteFile] = [join(folder, 'tasks.db'), join(folder, 'remote.db')]
  const [effects, remoteEffects] = [join(folder, 'effects.log'), join(folder, 'remote.log')]
  for (const path of [effects, remoteEffects]) await writeFile(path, '')
  const signs = createSigns()
  const ledger = createLedger(signs.sign)
  const hooks = await createHooks(createRandom(seed + 1), signs.sign)
  const remote = createServerProcess({ file: remoteFile, effects: remoteEffects, shutdownMs })
  await remote.start()
  const server = createServerProcess({ file, effects, shutdownMs, remote: remote.url() })
  const caller = createCaller(server.url)
  const stop = new AbortController()
  try {
    const around = { server, caller, hooks, ledger, random, sign: signs.sign }
    const working = Array.from({ length: callers }, (_, n) => work(around, n, stop.signal))
    const keeper = createKeeper(server)
    const sabotages: Promise<void>[] = []
    const tally = await killOften(options, { around, remote, signs, keeper, sabotages })
    stop.abort()
    const callersDone = Promise.all([...working, ...sabotages])
    await settle({ servers: [server, remote], keeper, ledger, working: callersDone })
    for (const one of [server, remote]) {
      const code = await one.stop()
      if (code !== 0) ledger.violation(`The last stop ended with ${code}`)
    }
    const [store, remoteStore] = [await openSqliteStore(file), await openSqliteStore(remoteFile)]
    try {
      const evidence = { store: remoteStore, effects: remoteEffects }
      return {
        ...tally,
        seed,
        folder,
        ownDeaths: server.ownDeaths(),
        seconds: Math.round((Date.now() - began) / 1000),
        followers: ledger.followers.length + ledger.clients.length,
        reconnects: ledger.followers.reduce((sum, { connections }) => sum + connections - 1, 0),
        counts: ledger.counts,
        audit: await audit(store, {
          ledger,
          hooks,
          effects,
          agents: torturedAgents,
          remote: evidence,
        }),
        deadLetters: (await store.deadLetters()).length,
        violations: ledger.violations,
      }
    } finally {
      await store.close()
      await remoteStore.close()
    }
  } finally {
    await server.kill()
    await remote.kill()
    await caller.close()
    await hooks.close()
    // What was found wrong can be looked into.
    if (ledger.violations.length === 0) await rm(folder, { recursive: true, force: true })
  }
}

/** Keeps a server up that may be killed by its own tasks. */
interface Keeper {
  /** Starts it, again if it dies before it listens. */
  start(): Promise<void>
  /** Starts it if it does not run. */
  keep(): Promise<void>
}

const startTries = 100

function createKeeper(server: ServerProcess): Keeper {
  let isUp = false

  async function start(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await server.start()
        isUp = true
        void server.gone().then(() => (isUp = false))
        return
      } catch (error) {
        if (tries === startTries) throw error
      }
    }
  }

  return {
    start,
    async keep() {
      if (!isUp) await start()
    },
  }
}

interface Torment {
  readonly around: Surroundings & { readonly server: ServerProcess }
  readonly remote: ServerProcess
  readonly signs: Signs
  readonly keeper: Keeper
  /** Those under way. */
  readonly sabotages: Promise<void>[]
}

/** In which of every fifty lives a task is sent that kills the server. */
const cycle = 50
const saboteurs: Readonly<Record<number, string>> = { 4: 'bomb', 8: 'stepper', 30: 'stepper' }

type Tally = Pick<TortureReport, 'kills' | 'killsWhileStarting' | 'stops' | 'remoteKills'>

async function killOften(options: TortureOptions, torment: Torment): Promise<Tally> {
  const { kills, stops = Math.ceil(kills / 5), progress } = options
  const { around, remote } = torment
  const { server, random } = around
  const tally = { kills, killsWhileStarting: 0, stops: 0, remoteKills: 0 }
  for (let count = 1; count <= kills; count++) {
    const saboteur = saboteurs[count % cycle]
    if (saboteur) torment.sabotages.push(sabotage(around, saboteur, `${saboteur}-${count}`))
    // The first start makes the file and finds the port.
    if (count > 1 && random.chance(0.1)) {
      tally.killsWhileStarting++
      await server.startAndKill(random.between(20, 400))
    } else {
      await live(torment)
      await server.kill()
    }
    if (tally.stops * kills < count * stops) {
      tally.stops++
      await live(torment)
      const code = await server.stop()
      // A task may have killed it meanwhile.
      if (code !== 0 && code !== null) around.ledger.violation(`A stop ended with ${code}`)
    }
    if (random.chance(0.1)) {
      tally.remoteKills++
      await remote.kill()
      await remote.start()
    }
    progress?.(count)
  }
  return tally
}

/** A suspect is tried for the second time after five seconds; a server that is killed from outside lives shorter. */
const longestLifeMs = 4_500

/** Lets the server live for some signs of life, or until a task kills it. */
async function live({ around, signs, keeper }: Torment): Promise<void> {
  const { server, random } = around
  const began = Date.now()
  await keeper.start()
  const pause = new AbortController()
  const wait = (ms: number): Promise<unknown> =>
    setTimeout(ms, undefined, { signal: pause.signal }).catch(() => {})
  const enough = signs.after(random.between(1, random.pick([5, 60, 300])))
  await Promise.race([enough, server.gone(), wait(longestLifeMs - (Date.now() - began))])
  await wait(random.between(0, 10))
  pause.abort()
}

/** Waits until every caller is done and the servers have nothing left to do. */
async function settle(rest: {
  readonly servers: readonly ServerProcess[]
  readonly keeper: Keeper
  readonly ledger: Ledger
  readonly working: Promise<unknown>
}): Promise<void> {
  const { servers, keeper, ledger, working } = rest
  const deadline = Date.now() + settleMs
  let callersDone = false
  void working.then(() => (callersDone = true))
  for (;;) {
    await keeper.keep()
    const left = await Promise.all(servers.map(leftOf))
    if (callersDone && left.every((one) => one?.tasks === 0 && one.webhooks === 0)) return
    if (Date.now() > deadline) {
      ledger.violation(`It does not settle: ${JSON.stringify({ callersDone, left })}`)
      return
    }
    await setTimeout(50)
  }
}

/** What server.mjs answers there; undefined where it has just died. */
async function leftOf(
  server: ServerProcess,
): Promise<{ readonly tasks: number; readonly webhooks: number } | undefined> {
  try {
    const { body } = await request(`${server.url()}/left`)
    return (await body.json()) as { readonly tasks: number; readonly webhooks: number }
  } catch {
    return undefined
  }
}
