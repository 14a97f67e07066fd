import { checkContracts } from './contracts.ts'
import { checkCycles } from './cycles.ts'
import { checkUniqueNames, checkUnusedExports, type Replaced } from './exports.ts'
import { checkExpressions } from './expressions.ts'
import {
  checkAccessors,
  checkCasts,
  checkClock,
  checkOrder,
  checkOutput,
  checkTrimming,
  checkUrls,
} from './habits.ts'
import { checkLayers } from './layers.ts'
import { checkOperations } from './operations.ts'
import { checkProvenance } from './provenance.ts'
import { checkPublicNames } from './public.ts'
import { checkLengths } from './sizes.ts'
import type { Tree } from './tree.ts'

/** What the checks know beside the source. */
export interface Facts {
  /** The names of all operations. */
  readonly operations: readonly string[]
  readonly replaced: Replaced
  /** The console's page, if it is outside of `src`: it uses the source as a file of `src` does. */
  readonly page: Tree
  /** Tests, benchmarks and scripts. */
  readonly tests: Tree
  /** The words of the examples, and of the code on the pages but the reference. */
  readonly mentioned: ReadonlySet<string>
}

/** Every rule of the source tree: one line per fault, naming the file. */
export const checks: Readonly<Record<string, (tree: Tree, facts: Facts) => string[]>> = {
  layers: checkLayers,
  cycles: checkCycles,
  contracts: (tree) => checkContracts(tree),
  operations: (tree, { operations }) => checkOperations(tree, operations),
  'unique names': (tree, { replaced }) => checkUniqueNames(tree, replaced),
  'unused exports': (tree, facts) => checkUnusedExports(tree, facts.replaced, facts),
  'public names': (tree, { mentioned }) => checkPublicNames(tree, mentioned),
  provenance: checkProvenance,
  expressions: checkExpressions,
  trimming: checkTrimming,
  accessors: checkAccessors,
  urls: checkUrls,
  clock: checkClock,
  output: checkOutput,
  casts: checkCasts,
  order: (tree, { page }) => checkOrder(new Map([...tree, ...page])),
  lengths: checkLengths,
}
