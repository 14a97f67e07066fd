import { readdir } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { ValidationError } from '../base/errors.ts'
import { passRate } from '../results/compare.ts'
import { loadResults } from '../results/files.ts'
import { requireOwn } from '../results/recorded.ts'
import type { EvalResults } from '../results/results.ts'

/** A finished evaluation in a list. */
export interface ArchiveEntry {
  readonly evaluation_id: string
  readonly timestamp: string
  readonly domain: string
  readonly agent: string
  readonly pass_rate: number | null
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/

/**
 * Gives the directory of an evaluation below the archive. An id that is no plain name, or that leads elsewhere, is
 * refused.
 *
 * @throws ValidationError that does not repeat the id.
 */
export function evaluationPath(archive: string, id: string): string {
  const root = resolve(archive)
  const path = resolve(root, id)
  if (!idPattern.test(id) || !path.startsWith(root + sep))
    throw new ValidationError('The evaluation id is not valid')
  return path
}

/**
 * Reads the results of one evaluation.
 *
 * @throws ValidationError where the id is not valid or nothing is known under it.
 */
export async function readEvaluation(archive: string, id: string): Promise<EvalResults> {
  const path = evaluationPath(archive, id)
  const recorded = await loadResults(path).catch(() => {
    throw new ValidationError('There are no results of this evaluation')
  })
  return requireOwn(recorded)
}

/** Lists the finished evaluations of an archive, newest first; what cannot be read is left out. */
export async function listEvaluations(archive: string): Promise<readonly ArchiveEntry[]> {
  const names = await readdir(archive, { withFileTypes: true }).catch(() => [])
  const entries = names.filter((one) => one.isDirectory()).map((one) => toEntry(archive, one.name))
  const known = (await Promise.all(entries)).filter((entry) => entry !== undefined)
  return known.sort((a, b) => (a.timestamp < b.timestamp ? 1 : -1))
}

async function toEntry(archive: string, name: string): Promise<ArchiveEntry | undefined> {
  try {
    const { timestamp, info, ...results } = requireOwn(await loadResults(join(archive, name)))
    return {
      evaluation_id: name,
      timestamp,
      domain: info.environment_info.domain_name,
      agent: info.agent_info.name,
      pass_rate: passRate({ ...results, timestamp, info }),
    }
  } catch {
    return undefined // a run that is not finished, or a directory of something else
  }
}
