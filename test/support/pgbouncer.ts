import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './port.ts'

/** Debian's pgbouncer; undefined where it is not installed. */
export const pgbouncer: string | undefined = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find(
  (path) => existsSync(path),
)

/** A pooler before a database. */
export interface Pooler {
  readonly url: string
  stop(): Promise<void>
}

/** Starts a pgbouncer before the database at a URL. It ends with this process, however that ends. */
export async function startPooler(url: string, mode: 'session' | 'transaction'): Promise<Pooler> {
  const { hostname, port, username } = new URL(url)
  const folder = await mkdtemp(join(tmpdir(), 'corral-pgbouncer-'))
  await chmod(folder, 0o755)
  const own = new URL(url)
  own.port = String(await freePort())
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${port} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own.port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 20
`,
  )
  // It does not run as root; and it ends when its input does, which the system sees to when this process dies.
  const guarded = '"$@" & child=$!; cat >/dev/null; kill -INT $child; wait $child'
  const asNobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const child = spawn('sh', ['-c', guarded, 'sh', pgbouncer ?? '', file], {
    stdio: ['pipe', 'ignore', 'pipe'],
    ...asNobody,
  })
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (bytes: Buffer) => {
      if (said.length < 10_000) said += String(bytes)
      if (said.includes('process up')) resolve()
    })
    void ended.then(() => reject(new Error(`pgbouncer does not start: ${said}`)))
  })
  return {
    url: own.href,
    async stop() {
      child.stdin.end()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
