import type { Entry } from './entry.ts'
import { createHeap } from './heap.ts'
import { Queue } from './queue.ts'

/** How much all keep together. */
export interface ShareLimits {
  /** Finished tasks. */
  readonly maxTasks: number
  /** Bytes of tasks that do not run, and of what is kept besides. */
  readonly maxBytes: number
}

/** The tasks that do not run, by whose they are. */
interface KeptShares {
  /** Takes in a task: `finished`, or `open` where somebody still waits for something and others go first. */
  add(task: Entry, kind: 'finished' | 'open'): void
  remove(task: Entry): void
  /** The task takes this many bytes from now on. */
  resize(task: Entry, bytes: number): void
  /** So many bytes more, or less, are kept for a principal besides its tasks. */
  count(principal: string, bytes: number): void
  /** What has to go while there is too much: the oldest of whoever keeps most. */
  excess(): Entry | undefined
}

/** What one principal keeps. */
interface Share {
  readonly principal: string
  readonly finished: Queue<Entry>
  readonly open: Queue<Entry>
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
  /** The one that was looked for last: most changes are of the same. */
  let last: Share | undefined
  let tasks = 0
  let bytes = 0
  let order = 0

  function change(share: Share, by: number): void {
    bytes += by
    share.bytes += by
    share.weight = Math.max(share.bytes / maxBytes, share.finished.size / maxTasks)
    heap.moved(share)
  }

  function find(principal: string): Share | undefined {
    if (last?.principal !== principal) last = shares.get(principal)
    return last
  }

  function shareOf(principal: string): Share {
    const known = find(principal)
    if (known) return known
    const share: Share = {
      principal,
      finished: new Queue(),
      open: new Queue(),
      bytes: 0,
      weight: 0,
      index: 0,
    }
    shares.set(principal, share)
    heap.add(share)
    return share
  }

  function forgetEmpty(share: Share): void {
    if (share.finished.size + share.open.size > 0 || share.bytes > 0) return
    shares.delete(share.principal)
    last = undefined
    heap.remove(share)
  }

  return {
    add(task, kind) {
      const share = shareOf(task.principal)
      task.order = ++order
      share[kind].join(task)
      if (kind === 'finished') tasks += 1
      change(share, task.bytes)
    },
    remove(task) {
      const share = task.queue && find(task.principal)
      if (!share) return
      if (task.queue === share.finished) tasks -= 1
      task.queue?.leave(task)
      change(share, -task.bytes)
      forgetEmpty(share)
    },
    resize(task, now) {
      const share = task.queue && find(task.principal)
      if (share) change(share, now - task.bytes)
      task.bytes = now
    },
    count(principal, by) {
      if (by === 0) return
      const share = shareOf(principal)
      change(share, by)
      forgetEmpty(share)
    },
    excess() {
      if (tasks <= maxTasks && bytes <= maxBytes) return undefined
      const isTooLarge = bytes > maxBytes
      const most = heap.first()
      return (most && oldestOf(most, isTooLarge)) ?? heaviest(shares.values(), isTooLarge)
    },
  }
}

/** What may go of a share: what is open too, where there are too many bytes. */
function oldestOf({ finished, open }: Share, isTooLarge: boolean): Entry | undefined {
  return finished.oldest ?? (isTooLarge ? open.oldest : undefined)
}

/** What goes where whoever keeps most has nothing that may, which is rare. */
function heaviest(shares: Iterable<Share>, isTooLarge: boolean): Entry | undefined {
  let found: Share | undefined
  for (const share of shares)
    if (oldestOf(share, isTooLarge) && (!found || isAbove(share, found))) found = share
  return found && oldestOf(found, isTooLarge)
}

/** Whether one loses a task before the other: it keeps more, or as much and for longer. */
function isAbove(a: Share, b: Share): boolean {
  return a.weight > b.weight || (a.weight === b.weight && orderOf(a) < orderOf(b))
}

function orderOf({ finished, open }: Share): number {
  return (finished.oldest ?? open.oldest)?.order ?? Number.POSITIVE_INFINITY
}
