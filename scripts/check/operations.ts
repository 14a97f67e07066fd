import type { Tree } from './tree.ts'

/** How many files may name one operation. */
const most = 6

/** Where an operation may be named freely: callers that are programs of their own, other SDKs' names, and what is generated from the protocol's definition. */
const free = /^compat\/|^bindings\/grpc\/|^\.\.\/console\/|\.generated\./

/**
 * An operation is a row of `protocol/operations.ts`; bindings, dialects, client and gate read the row. So its name
 * stands in few files, comments included: `grep -rlw CancelTask src` shows them.
 */
export function checkOperations(tree: Tree, operations: readonly string[]): string[] {
  const sources = [...tree.values()].filter(({ path }) => !free.test(path))
  return operations.flatMap((name) => {
    const word = new RegExp(`\\b${name}\\b`)
    const files = sources.filter(({ text }) => word.test(text)).map(({ path }) => path)
    if (files.length <= most) return []
    return [
      `${name} stands in ${files.length} files, at most ${most} may name it: ${files.join(', ')}`,
    ]
  })
}
