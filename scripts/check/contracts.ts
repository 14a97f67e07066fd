import { folderOf, type Tree } from './tree.ts'

/** What implementations must be and callers may rely on, each in a file of its own. */
export const contracts: readonly string[] = [
  'shared/clock.ts',
  'agents/agent.ts',
  'agents/guards/guard.ts',
  'store/store.ts',
  'store/feed.ts',
  'protocol/task-store.ts',
  'bindings/http.ts',
  'bindings/dialects/dialect.ts',
  'team/schedulers/scheduler.ts',
  'server/authenticator.ts',
  'eval/domain/domain.ts',
  'eval/scorers/scorer.ts',
]

/**
 * A contract imports types, and those from `shared/`, `protocol/` or other contracts: whoever reads or implements one
 * needs no implementation.
 */
export function checkContracts(tree: Tree, files: readonly string[] = contracts): string[] {
  return files.flatMap((path) => {
    const source = tree.get(path)
    if (!source) return [`${path}: the contract is not there`]
    return source.imports.flatMap(({ specifier, target, typeOnly }) => {
      if (!typeOnly) return [`${path}: a contract imports types only, not ${specifier} as a value`]
      if (target === undefined || files.includes(target)) return []
      if (['shared', 'protocol'].includes(folderOf(target))) return []
      return [`${path}: a contract imports no implementation, and ${target} is one`]
    })
  })
}
