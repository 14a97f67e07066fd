import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/store.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { createServerProcess, type ServerProcess, type ServerSetup } from '../process.ts'

/** What replicas stand on: a database, files, and the server that has the teams' remote members. */
export interface Ground {
  readonly folder: string
  /** Looks at the database; it is none of the replicas. */
  readonly store: PostgresStore
  /** What the replicas are started with. */
  readonly setup: ServerSetup
  readonly remote: ServerProcess
  readonly remoteFile: string
  readonly remoteEffects: string
  /** Closes it; the files go too, unless they are to be looked into. */
  close(keepsFiles: boolean): Promise<void>
}

const leases = { leaseMs: 1_200, beatMs: 300 } as const
/** Running turns that no other replica can go on with may end when a replica stops; none takes so long. */
const shutdownMs = 5_000

/** Lays the ground: a PostgreSQL that waits for its disk, or the one that `CORRAL_TEST_POSTGRES` names. */
export async function openGround(): Promise<Ground> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-replicas-'))
  const [effects, remoteEffects] = [join(folder, 'effects.log'), join(folder, 'remote.log')]
  for (const path of [effects, remoteEffects]) await writeFile(path, '')
  const remoteFile = join(folder, 'remote.db')
  const remote = createServerProcess({ file: remoteFile, effects: remoteEffects, shutdownMs })
  await remote.start()
  const given = process.env.CORRAL_TEST_POSTGRES
  const own = given === undefined ? await startPostgres({ durable: true }) : undefined
  const schema = `replicas_${process.pid}_${Date.now()}`
  const postgres = { url: given ?? own?.url ?? '', schema, ...leases }
  const store = await openPostgresStore(postgres)
  return {
    folder,
    store,
    setup: { postgres, effects, shutdownMs, remote: remote.url() },
    remote,
    remoteFile,
    remoteEffects,
    async close(keepsFiles) {
      await remote.kill()
      await store.close()
      await own?.stop()
      if (!keepsFiles) await rm(folder, { recursive: true, force: true })
    },
  }
}
