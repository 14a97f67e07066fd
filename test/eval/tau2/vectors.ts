import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { loadTau2Domain } from '../../../src/eval/tau2/domain.ts'

const repository = resolve(import.meta.dirname, '../../..')

/** The data of a tau2 checkout; where there is none, that is said once, loudly. */
export const dataDirectory: string | undefined = findData()

function findData(): string | undefined {
  const found = [process.env.CORRAL_TAU2_DATA, join(repository, '../shared/tau2/data')].find(
    (path) => path && existsSync(join(path, 'tau2/domains/retail/db.json')),
  )
  if (!found)
    console.warn("SKIPPED: tau2's data is not here; set CORRAL_TAU2_DATA to a checkout's data")
  return found
}

/** What tau2's own Python gave for one golden action. */
export interface GoldenAction {
  readonly name: string
  readonly requestor: 'assistant' | 'user'
  readonly ok: boolean
  readonly content: string
}

/** The hashes that tau2's own Python gave for one task, agent's and user's, and its answers. */
export interface GoldenTask {
  readonly task_id: string
  readonly init: readonly [string, string | null]
  readonly gold: readonly [string, string | null]
  readonly actions: readonly GoldenAction[]
  readonly assertions: readonly boolean[]
}

/** A file beside the data: vectors and recordings. */
export function besideData(path: string): string {
  return join(dataDirectory ?? '', '..', path)
}

/** Whether vectors lie beside the data. */
export const hasVectors: boolean =
  dataDirectory !== undefined && existsSync(besideData('vectors/gold_retail.json'))

/** The vectors of a domain. */
export function goldenTasks(domain: string): readonly GoldenTask[] {
  return JSON.parse(readFileSync(besideData(`vectors/gold_${domain}.json`), 'utf8')).tasks
}

/** A domain of tau2. */
export type Tau2Domain = Awaited<ReturnType<typeof loadTau2Domain>>

/** A domain of tau2, with the data of the tests. */
export function loadDomain(name: string): Promise<Tau2Domain> {
  return loadTau2Domain(`tau2:${name}`, { directory: dataDirectory })
}
