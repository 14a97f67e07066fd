import { checkContracts } from './contracts.ts'
import { checkCycles } from './cycles.ts'
import { checkUniqueNames, checkUnusedExports, type Replaced } from './exports.ts'
import { checkExpressions } from './expressions.ts'
import {
  checkAccessors,
  checkCasts,
  checkClock,
  checkOutput,
  checkTrimming,
  checkUrls,
} from './habits.ts'
import { checkLayers } from './layers.ts'
import { checkOperations } from './operations.ts'
import { checkProvenance } from './provenance.ts'
import { checkLengths, checkSpread } from './sizes.ts'
import type { Tree } from './tree.ts'

/** What the checks know beside the source. */
export interface Facts {
  /** The names of all operations. */
  readonly operations: readonly string[]
  readonly replaced: Replaced
}

/** Every rule of the source tree: one line per fault, naming the file. */
export const checks: Readonly<Record<string, (tree: Tree, facts: Facts) => string[]>> = {
  layers: checkLayers,
  cycles: checkCycles,
  contracts: (tree) => checkContracts(tree),
  operations: (tree, { operations }) => checkOperations(tree, operations),
  'unique names': (tree, { replaced }) => checkUniqueNames(tree, replaced),
  'unused exports': (tree, { replaced }) => checkUnusedExports(tree, replaced),
  provenance: checkProvenance,
  expressions: checkExpressions,
  trimming: checkTrimming,
  accessors: checkAccessors,
  urls: checkUrls,
  clock: checkClock,
  output: checkOutput,
  casts: checkCasts,
  lengths: checkLengths,
  spread: checkSpread,
}
