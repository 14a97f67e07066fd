import type { DataOptions } from '../tau2/data.ts'
import type { Domain } from './environment.ts'
import { resolveDomain } from './load.ts'

/**
 * A domain by what names it: `tau2:retail` and the others of tau2, a built-in one by its name, one in files by its
 * directory. tau2's code is loaded only where it is asked for.
 */
export async function findDomain(name: string, tau2?: DataOptions): Promise<Domain> {
  if (!name.startsWith('tau2:')) return resolveDomain(name)
  const { loadTau2Domain } = await import('../tau2/domain.ts')
  return loadTau2Domain(name, tau2)
}
