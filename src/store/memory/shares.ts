import { createHeap } from './heap.ts'
import type { Kept } from './kept.ts'
import { createQueue, type Queue } from './queue.ts'

/** How much all keep together. */
export interface ShareLimits {
  /** Finished tasks. */
  readonly maxTasks: number
  /** Bytes of tasks that do not run. */
  readonly maxBytes: number
}

/** The tasks that do not run, by whose they are. */
interface KeptShares {
  /** Takes in a task: `finished`, or `open` where somebody still waits for something and others go first. */
  add(task: Kept, kind: 'finished' | 'open'): void
  remove(task: Kept): void
  /** The task takes this many bytes from now on. */
  resize(task: Kept, bytes: number): void
  /** What has to go while there is too much: the oldest of whoever keeps most. */
  excess(): Kept | undefined
}

/** What one principal keeps. */
interface Share {
  readonly principal: string
  readonly finished: Queue<Kept>
  readonly open: Queue<Kept>
  bytes: number
  /** How much of what all may keep that is. */
  weight: number
  /** Its place in the heap. */
  index: number
}

/** Makes the shares. Each change costs the logarithm of how many principals there are, and mostly nothing. */
export function createKeptShares({ maxTasks, maxBytes }: ShareLimits): KeptShares {
  const shares = new Map<string, Share>()
  /** Whoever keeps most comes first. */
  const heap = createHeap<Share>(isAbove)
  let tasks = 0
  let bytes = 0
  let order = 0

  function change(share: Share, by: number): void {
    bytes += by
    share.bytes += by
    share.weight = Math.max(share.bytes / maxBytes, share.finished.size / maxTasks)
    heap.moved(share)
  }

  function shareOf(principal: string): Share {
    const known = shares.get(principal)
    if (known) return known
    const share: Share = {
      principal,
      finished: createQueue(),
      open: createQueue(),
      bytes: 0,
      weight: 0,
      index: 0,
    }
    shares.set(principal, share)
    heap.add(share)
    return share
  }

  function forget(share: Share): void {
    shares.delete(share.principal)
    heap.remove(share)
  }

  return {
    add(task, kind) {
      const share = shareOf(task.principal)
      task.order = ++order
      task.sharePlace = share[kind].join(task)
      if (kind === 'finished') tasks += 1
      change(share, task.bytes)
    },
    remove(task) {
      const share = task.sharePlace && shares.get(task.principal)
      if (!share || !task.sharePlace) return
      if (task.sharePlace.queue === share.finished) tasks -= 1
      task.sharePlace = task.sharePlace.leave()
      change(share, -task.bytes)
      if (share.finished.size + share.open.size === 0) forget(share)
    },
    resize(task, now) {
      const share = task.sharePlace && shares.get(task.principal)
      if (share) change(share, now - task.bytes)
      task.bytes = now
    },
    excess() {
      const most = heap.first
      if (!most || (tasks <= maxTasks && bytes <= maxBytes)) return undefined
      if (most.finished.oldest || bytes > maxBytes) return most.finished.oldest ?? most.open.oldest
      // Whoever keeps most has nothing finished, which is rare.
      let found = most
      for (const share of shares.values())
        if (share.finished.size > found.finished.size) found = share
      return found.finished.oldest
    },
  }
}

/** Whether one loses a task before the other: it keeps more, or as much and for longer. */
function isAbove(a: Share, b: Share): boolean {
  return a.weight > b.weight || (a.weight === b.weight && orderOf(a) < orderOf(b))
}

function orderOf({ finished, open }: Share): number {
  return (finished.oldest ?? open.oldest)?.order ?? Number.POSITIVE_INFINITY
}
