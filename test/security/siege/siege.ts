import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { request } from 'undici'
import { startPostgres } from '../../support/postgres-server.ts'
import { attacks } from './attacks.ts'
import { beHonest, type Fared } from './honest.ts'
import { openHosts } from './hosts.ts'
import type { Outcomes } from './tally.ts'

/** How long and how hard. */
export interface SiegeOptions {
  readonly seconds: number
  readonly store: 'memory' | 'sqlite' | 'postgres'
  /** 1 for everything, less for a short run. */
  readonly scale: number
  /** The name of one attack, to see it alone. */
  readonly only?: string | undefined
  /** Told of what the server holds, once a second. */
  readonly progress?: ((second: number, rssMb: number) => void) | undefined
}

/** What became of the server, the attacks and the honest client. */
export interface SiegeReport {
  readonly store: SiegeOptions['store']
  /** Whether the server was there all the time. */
  readonly survived: boolean
  /** What it wrote before it died. */
  readonly lastWords: string
  readonly peakRssMb: number
  readonly attacks: readonly AttackReport[]
  readonly honest: Fared
  /** How it fared before the attackers came. */
  readonly idle: Fared
  /** Webhooks of the honest client that arrived. */
  readonly honestHooks: number
}

/** What became of one attack. */
export interface AttackReport {
  readonly name: string
  readonly outcomes: Outcomes
  /** What was answered otherwise than it should be; what should have been answered and was not. */
  readonly wrong: readonly string[]
}

const heapMb = 512
/** For each second of the siege. */
const warmUpMs = 100
const mib = 1024 * 1024

/** Besieges a server of the built package, in a process with a heap of 512 MB, while an honest client calls it. */
export async function besiege(options: SiegeOptions): Promise<SiegeReport> {
  const { seconds, store, scale, only, progress } = options
  const folder = await mkdtemp(join(tmpdir(), 'corral-siege-'))
  const hosts = await openHosts()
  const place = await openPlace(store, folder)
  const server = startServer({ ...place.setup, endless: hosts.endless })
  try {
    const port = await server.port
    const url = `http://127.0.0.1:${port}`
    // A server that has just started runs at a fraction of its speed: it is at work before the attackers come.
    const before = await beHonest(url, AbortSignal.timeout(seconds * warmUpMs))
    const idle = await beHonest(url, AbortSignal.timeout(seconds * warmUpMs))
    const ended = AbortSignal.timeout(seconds * 1_000)
    const watching = watch(url, ended, progress)
    const honest = beHonest(url, ended)
    const attacking = attack({ port, seconds, scale, only, hosts: { tarpit: hosts.tarpit } })
    const [outcomes, fared, peakRssMb] = await Promise.all([attacking, honest, watching])
    await pause(2_000)
    const { honestHooks = 0 } = await vitals(url).catch(() => ({ honestHooks: 0 }))
    return {
      store,
      survived: server.child.exitCode === null && server.child.signalCode === null,
      lastWords: server.errors().slice(-2_000),
      peakRssMb,
      attacks: Object.entries(outcomes).map(([name, seen]) => judge(name, seen)),
      honest: { ...fared, failures: [...before.failures, ...idle.failures, ...fared.failures] },
      idle,
      honestHooks,
    }
  } finally {
    server.child.kill('SIGKILL')
    hosts.close()
    await place.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Where the server keeps its tasks. */
interface Place {
  readonly setup: object
  close(): Promise<void>
}

async function openPlace(store: SiegeOptions['store'], folder: string): Promise<Place> {
  const nothing = async (): Promise<void> => {}
  if (store === 'memory') return { setup: {}, close: nothing }
  if (store === 'sqlite') return { setup: { file: join(folder, 'tasks.db') }, close: nothing }
  const given = process.env.CORRAL_TEST_POSTGRES
  const schema = `siege_${process.pid}_${Date.now()}`
  if (given === undefined) {
    const { url, stop } = await startPostgres({ durable: true })
    return { setup: { postgres: { url, schema } }, close: stop }
  }
  return {
    setup: { postgres: { url: given, schema } },
    async close() {
      const client = new Client({ connectionString: given })
      await client.connect()
      await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      await client.end()
    },
  }
}

function judge(name: string, outcomes: Outcomes): AttackReport {
  const { right, must } = attacks.find((attack) => attack.name === name) ?? { right: /^$/ }
  const seen = Object.keys(outcomes)
  const wrong = seen.filter((outcome) => !right.test(outcome))
  const missing = must && !seen.some((outcome) => must.test(outcome)) ? [`never ${must}`] : []
  return { name, outcomes, wrong: [...wrong, ...missing] }
}

interface Started {
  readonly child: ChildProcess
  readonly port: Promise<number>
  errors(): string
}

function startServer(setup: object): Started {
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${heapMb}`, pathOf('./server.mjs'), JSON.stringify(setup)],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += chunk))
  const port = new Promise<number>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      const said = /listening (\d+)/.exec(String(chunk))
      if (said) resolve(Number(said[1]))
    })
    child.once('exit', () => reject(new Error(errors)))
  })
  return { child, port, errors: () => errors }
}

async function attack(setup: object): Promise<Readonly<Record<string, Outcomes>>> {
  const words = ['--import', 'tsx', pathOf('./attacker.ts'), JSON.stringify(setup)]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const chunk of child.stdout) output += chunk
  return JSON.parse(output)
}

/** The most that the server held, as far as it could be asked. */
async function watch(
  url: string,
  ended: AbortSignal,
  progress: SiegeOptions['progress'],
): Promise<number> {
  let peak = 0
  for (let second = 0; !ended.aborted; second++) {
    const { rss } = await vitals(url).catch(() => ({ rss: 0 }))
    peak = Math.max(peak, rss / mib)
    progress?.(second, rss / mib)
    await pause(1_000)
  }
  return peak
}

async function vitals(url: string): Promise<{ rss: number; honestHooks?: number }> {
  const { body } = await request(`${url}/vitals`, { headersTimeout: 10_000 })
  return (await body.json()) as { rss: number; honestHooks?: number } // server.mjs writes it
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}
