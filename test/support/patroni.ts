import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './port.ts'
import { debianFolder } from './postgres-server.ts'

/** Whether Debian's Patroni, etcd and PostgreSQL are installed. */
export const hasPatroni: boolean =
  debianFolder !== undefined && existsSync('/usr/bin/patroni') && existsSync('/usr/bin/etcd')

/** A PostgreSQL that Patroni looks after. */
export interface PatroniNode {
  readonly url: string
  readonly name: string
  /** Kills Patroni and all of PostgreSQL at once, as the loss of a machine does. */
  kill(): void
}

/** Nodes that Patroni looks after: one primary, the others standbys, one of them synchronous. */
export interface PatroniCluster {
  readonly nodes: readonly PatroniNode[]
  /** The primary, as Patroni says, once it has a synchronous standby if one is wanted. */
  primary(wanted?: { readonly synchronous: boolean }): Promise<PatroniNode>
  stop(): Promise<void>
}

const nobody = 65_534
const isRoot = process.getuid?.() === 0

/** Starts etcd and so many nodes on ports of their own, in a temporary folder. */
export async function startPatroni(count: number): Promise<PatroniCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-patroni-'))
  await chmod(folder, 0o755)
  const [client, peer] = [await freePort(), await freePort()]
  const etcd = run(await ownFolder(folder, 'etcd'), '/usr/bin/etcd', [
    '--data-dir=data',
    `--listen-client-urls=http://127.0.0.1:${client}`,
    `--advertise-client-urls=http://127.0.0.1:${client}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-cluster=default=http://127.0.0.1:${peer}`,
  ])
  process.once('exit', () => killGroup(etcd))
  const nodes: (PatroniNode & { readonly api: string })[] = []
  for (let i = 1; i <= count; i++) nodes.push(await startNode(folder, `node${i}`, client))
  return {
    nodes,
    async primary({ synchronous } = { synchronous: false }) {
      for (;;) {
        const { leader, others } = await membersOf(nodes)
        const node = nodes.find(({ name }) => name === leader)
        if (node && (!synchronous || others.includes('sync_standby'))) return node
        await sleep(100)
      }
    },
    async stop() {
      for (const { kill } of nodes) kill()
      killGroup(etcd)
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

async function membersOf(
  nodes: readonly { readonly api: string }[],
): Promise<{ readonly leader: string | undefined; readonly others: readonly string[] }> {
  for (const { api } of nodes)
    try {
      const answer = await fetch(`${api}/cluster`, { signal: AbortSignal.timeout(2_000) })
      const { members } = (await answer.json()) as {
        members: { name: string; role: string; state: string }[]
      } // Patroni's API
      const live = members.filter(({ state }) => state === 'running' || state === 'streaming')
      const leader = live.find(({ role }) => role === 'leader')?.name
      return { leader, others: live.map(({ role }) => role) }
    } catch {
      // This one is gone.
    }
  return { leader: undefined, others: [] }
}

async function startNode(folder: string, name: string, etcd: number) {
  const home = await ownFolder(folder, name)
  const [port, apiPort] = [await freePort(), await freePort()]
  const file = join(home, 'patroni.json')
  // YAML, which JSON is.
  const settings = {
    scope: 'corral',
    name,
    restapi: { listen: `127.0.0.1:${apiPort}`, connect_address: `127.0.0.1:${apiPort}` },
    etcd3: { hosts: `127.0.0.1:${etcd}` },
    bootstrap: {
      dcs: { ttl: 5, loop_wait: 1, retry_timeout: 3, synchronous_mode: true },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { auth: 'trust' }],
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: join(home, 'data'),
      bin_dir: join(debianFolder ?? '', 'bin'),
      pgpass: join(home, 'pgpass'),
      authentication: {
        superuser: { username: 'corral' },
        replication: { username: 'replicator' },
      },
      parameters: { unix_socket_directories: '' },
    },
  }
  await writeFile(file, JSON.stringify(settings))
  const child = run(home, '/usr/bin/patroni', [file])
  process.once('exit', () => node.kill())
  const node = {
    name,
    url: `postgres://corral@127.0.0.1:${port}/postgres`,
    api: `http://127.0.0.1:${apiPort}`,
    kill() {
      killGroup(child)
      killPostmaster(join(home, 'data', 'postmaster.pid'))
    },
  }
  return node
}

/** Patroni starts PostgreSQL apart from itself; the other processes of PostgreSQL end when the first has. */
function killPostmaster(file: string): void {
  try {
    process.kill(Number(readFileSync(file, 'utf8').split('\n')[0]), 'SIGKILL')
  } catch {
    // It does not run.
  }
}

async function ownFolder(folder: string, name: string): Promise<string> {
  const own = join(folder, name)
  await mkdir(own, { mode: 0o700 })
  if (isRoot) await chown(own, nobody, nobody)
  return own
}

/** Starts a program that leads a group of processes of its own. It does not run as root. */
function run(cwd: string, program: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, {
    cwd,
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env.PATH, HOME: cwd, LC_ALL: 'C.UTF-8' },
    ...(isRoot && { uid: nobody, gid: nobody }),
  })
  return child
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // All of them are gone.
  }
}
