import { checks, type Facts } from '../../../scripts/check/checks.ts'
import { createTree } from '../../../scripts/check/tree.ts'

/** A small house in which every rule holds. */
export const house: Readonly<Record<string, string>> = {
  'shared/clock.ts': 'export interface Clock { now(): number }\n',
  'protocol/types.ts': 'export interface Task { readonly id: string }\n',
  'store/store.ts':
    "import type { Clock } from '../shared/clock.ts'\nimport type { Task } from '../protocol/types.ts'\nexport interface Store { get(): Task; clock: Clock }\n",
  'store/memory.ts':
    "import type { Store } from './store.ts'\nexport function createMemoryStore(): Store { return { get: () => ({ id: 'a' }), clock: { now: () => 0 } } }\n",
  'store/index.ts':
    "export { createMemoryStore } from './memory.ts'\nexport type { Store } from './store.ts'\n",
}
/** What the rules know beside the source. */
export const facts: Facts = {
  operations: ['GetTask'],
  replaced: {},
  page: new Map(),
  tests: new Map(),
  mentioned: new Set(['createMemoryStore']),
}

/** The faults of one rule in the house with some files more, or otherwise. */
export function faultsOf(rule: string, planted: Readonly<Record<string, string>> = {}): string[] {
  return checks[rule]?.(createTree({ ...house, ...planted }), facts) ?? [`no rule ${rule}`]
}
