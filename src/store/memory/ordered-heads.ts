import { isBefore } from '../list.ts'
import type { TaskCursor, TaskHead } from '../store.ts'

/** Task heads in ascending order of timestamp, then id. */
export interface OrderedHeads {
  add(head: TaskHead): void
  /** Takes out the head with this one's timestamp and id. */
  remove(head: TaskHead): void
  /** How many there are with this timestamp or a later one. */
  countFrom(timestamp: string): number
  /** From the newest on, strictly before `cursor` where there is one. */
  descend(cursor?: TaskCursor): Iterable<TaskHead>
  readonly size: number
}

/** A block splits at twice this size; small enough to splice, large enough that there are few. */
const blockSize = 256

/**
 * Keeps heads in sorted blocks: finding, adding and removing cost a binary search and one small splice, a page
 * costs its own length, and a count costs one addition per block. Nothing is sorted again, however many there are.
 */
export function createOrderedHeads(): OrderedHeads {
  return new HeadBlocks()
}

/** A class, not closures: where somebody lists a context there is one for each. */
class HeadBlocks implements OrderedHeads {
  readonly #blocks: TaskHead[][] = []
  size = 0

  add(head: TaskHead): void {
    const blocks = this.#blocks
    const at = Math.min(blockOf(blocks, head), blocks.length - 1)
    const block = blocks[at]
    this.size += 1
    if (block === undefined) {
      blocks.push([head])
      return
    }
    block.splice(placeIn(block, head), 0, head)
    if (block.length >= 2 * blockSize) blocks.splice(at + 1, 0, block.splice(blockSize))
  }

  remove(head: TaskHead): void {
    const blocks = this.#blocks
    const at = blockOf(blocks, head)
    const block = blocks[at]
    const place = block === undefined ? 0 : placeIn(block, head)
    const found = block?.[place]
    if (!block || found?.id !== head.id || found.timestamp !== head.timestamp) return
    block.splice(place, 1)
    if (block.length === 0) blocks.splice(at, 1)
    this.size -= 1
  }

  countFrom(timestamp: string): number {
    const floor = { timestamp, id: '' }
    const at = blockOf(this.#blocks, floor)
    const block = this.#blocks[at]
    if (block === undefined) return 0
    let count = block.length - placeIn(block, floor)
    for (const later of this.#blocks.slice(at + 1)) count += later.length
    return count
  }

  *descend(cursor?: TaskCursor): Generator<TaskHead, void, undefined> {
    const blocks = this.#blocks
    let at = cursor === undefined ? blocks.length - 1 : blockOf(blocks, cursor)
    const first = blocks[at]
    let end = cursor === undefined || first === undefined ? undefined : placeIn(first, cursor)
    if (first === undefined) at = blocks.length - 1
    for (; at >= 0; at -= 1, end = undefined) {
      const block = blocks[at] ?? []
      for (const head of block.slice(0, end).reverse()) yield head
    }
  }
}

/** The first block whose last head is not before the key; `blocks.length` if the key is after everything. */
function blockOf(blocks: readonly (readonly TaskHead[])[], key: TaskCursor): number {
  return search(blocks, (block) => isLower(block[block.length - 1], key))
}

/** The first place in a block whose head is not before the key. */
function placeIn(block: readonly TaskHead[], key: TaskCursor): number {
  return search(block, (head) => isLower(head, key))
}

/** Binary search: the first index at which `low` no longer holds. */
function search<T>(items: readonly T[], low: (item: T) => boolean): number {
  let from = 0
  let to = items.length
  while (from < to) {
    const middle = (from + to) >>> 1
    const item = items[middle]
    if (item !== undefined && low(item)) from = middle + 1
    else to = middle
  }
  return from
}

function isLower(head: TaskHead | undefined, key: TaskCursor): boolean {
  return head !== undefined && isBefore(head, key)
}
