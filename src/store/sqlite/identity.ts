import { type Stats, statSync } from 'node:fs'
import { fileFault } from './faults.ts'

/**
 * Watches over what stands at an open file's path. SQLite goes on writing to a file that was deleted or replaced, where
 * nobody finds it again: so each commit is followed by a look before it is answered.
 *
 * @returns a function that throws if the file, or the log beside it, is no longer the one that was opened.
 */
export function createIdentity(path: string): () => void {
  const parts = [path, `${path}-wal`].map((part) => ({ part, opened: find(part) }))
  return () => {
    for (const { part, opened } of parts) {
      if (opened === undefined) continue
      const found = find(part)
      if (found === undefined) throw fileFault('the file was deleted or moved away')
      if (found.ino !== opened.ino || found.dev !== opened.dev)
        throw fileFault('another file was put in its place')
      if (part === path && found.size === 0) throw fileFault('the file was emptied')
    }
  }
}

function find(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
