import type { WriteResult } from '../store.ts'
import type { WriteLine } from './lines.ts'

/** A commit that waits for its turn, or work of its own for the writing connection. */
export interface WaitingCommit {
  readonly lines: readonly WriteLine[]
  readonly bytes: number
  resolve(results: readonly WriteResult[]): void
  reject(error: unknown): void
  readonly work?: () => Promise<void>
}

/** Writes and bytes that may wait; beyond it a commit is refused, so that a slow database cannot eat the memory. */
const maxWaiting = 20_000
const maxWaitingBytes = 256 * 1024 * 1024
/** Writes and bytes of one group. */
const maxGroup = 500
const maxGroupBytes = 32 * 1024 * 1024

/** Commits in the order in which they came. */
export class WaitingCommits {
  readonly #waiting: WaitingCommit[] = []
  #lines = 0
  #bytes = 0

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Takes a commit in; false where there is no room for it. */
  add(one: WaitingCommit): boolean {
    const [lines, bytes] = [this.#lines + one.lines.length, this.#bytes + one.bytes]
    if (this.#lines > 0 && (lines > maxWaiting || bytes > maxWaitingBytes)) return false
    this.#waiting.push(one)
    this.#lines = lines
    this.#bytes = bytes
    return true
  }

  /** The oldest that go together: commits up to a size, or work alone. */
  next(): readonly WaitingCommit[] {
    let [lines, bytes, count] = [0, 0, 0]
    for (const one of this.#waiting) {
      if (count > 0 && (one.work || this.#waiting[0]?.work)) break
      if (count > 0 && (lines + one.lines.length > maxGroup || bytes + one.bytes > maxGroupBytes))
        break
      lines += one.lines.length
      bytes += one.bytes
      count += 1
    }
    this.#lines -= lines
    this.#bytes -= bytes
    return this.#waiting.splice(0, count)
  }
}
