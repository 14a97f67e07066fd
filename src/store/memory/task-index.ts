import { isBefore, isSameScope, scopeKey } from '../documents.ts'
import type {
  AllTasksFilter,
  ListConditions,
  Scope,
  TaskCursor,
  TaskHead,
  TaskListFilter,
} from '../store.ts'

/** The heads of a page, whether more follow, and how many match in all. */
export interface HeadPage {
  readonly heads: readonly TaskHead[]
  readonly more: boolean
  readonly total: number
}

/** Which columns a list filters by; there is one ordered list per value of them. */
interface FilterKind {
  readonly scope: boolean
  readonly context: boolean
  readonly state: boolean
  readonly lists: Map<string, OrderedHeads>
}

/**
 * Finds the tasks of a list in memory without looking at the others. A kind of filter is indexed from its first use on,
 * so that a server whose tasks are never listed pays nothing for it.
 */
export class TaskIndex {
  readonly #all: () => Iterable<TaskHead>
  readonly #kinds: FilterKind[] = []

  /** @param all Gives the heads of all tasks at that moment. */
  constructor(all: () => Iterable<TaskHead>) {
    this.#all = all
  }

  /** A task was created, changed its columns, or was removed. */
  move(from: TaskHead | undefined, to: TaskHead | undefined): void {
    if (this.#kinds.length === 0 || isSamePlace(from, to)) return
    for (const kind of this.#kinds) {
      if (from) remove(kind, from)
      if (to) add(kind, to)
    }
  }

  /** A page of one scope. */
  page(filter: TaskListFilter): HeadPage {
    return pageIn(this.#listFor(filter, filter.scope), filter)
  }

  /** A page over all scopes. */
  pageOfAll(filter: AllTasksFilter): HeadPage {
    const list = this.#listFor(filter)
    return filter.agent === undefined ? pageIn(list, filter) : pageOfAgent(list, filter)
  }

  #listFor({ contextId, state }: ListConditions, ofScope?: Scope): OrderedHeads | undefined {
    const scope = ofScope !== undefined
    const context = contextId !== undefined
    const isOfState = state !== undefined
    let kind = this.#kinds.find(
      (one) => one.scope === scope && one.context === context && one.state === isOfState,
    )
    if (kind === undefined) {
      kind = { scope, context, state: isOfState, lists: new Map() }
      for (const head of this.#all()) add(kind, head)
      this.#kinds.push(kind)
    }
    return kind.lists.get(keyOf(ofScope, contextId, state))
  }
}

function isSamePlace(a: TaskHead | undefined, b: TaskHead | undefined): boolean {
  if (a === b) return true
  if (a === undefined || b === undefined) return false
  return (
    a.timestamp === b.timestamp &&
    a.state === b.state &&
    a.contextId === b.contextId &&
    isSameScope(a.scope, b.scope)
  )
}

function add(kind: FilterKind, head: TaskHead): void {
  const key = keyIn(kind, head)
  const list = kind.lists.get(key) ?? new OrderedHeads()
  if (list.size === 0) kind.lists.set(key, list)
  list.add(head)
}

function remove(kind: FilterKind, head: TaskHead): void {
  const key = keyIn(kind, head)
  const list = kind.lists.get(key)
  list?.remove(head)
  if (list?.size === 0) kind.lists.delete(key)
}

function keyIn(kind: FilterKind, head: TaskHead): string {
  return keyOf(
    kind.scope ? head.scope : undefined,
    kind.context ? head.contextId : undefined,
    kind.state ? head.state : undefined,
  )
}

function keyOf(scope: Scope | undefined, contextId = '', state = ''): string {
  return `${scope ? scopeKey(scope) : ''}${contextId.length}:${contextId}${state}`
}

function pageIn(list: OrderedHeads | undefined, filter: ListConditions): HeadPage {
  if (list === undefined) return { heads: [], more: false, total: 0 }
  const floor = filter.timestampAfter ?? ''
  const total = floor === '' ? list.size : list.countFrom(floor)
  const heads: TaskHead[] = []
  for (const head of list.descend(filter.cursor)) {
    if (head.timestamp < floor) break
    if (heads.length === filter.limit) return { heads, more: true, total }
    heads.push(head)
  }
  return { heads, more: false, total }
}

/** Looks at every head of the list: few callers filter by one agent among all scopes. */
function pageOfAgent(list: OrderedHeads | undefined, filter: AllTasksFilter): HeadPage {
  const { agent, limit, cursor, timestampAfter = '' } = filter
  const heads: TaskHead[] = []
  let total = 0
  let more = false
  for (const head of list?.descend() ?? []) {
    if (head.timestamp < timestampAfter) break
    if (head.scope.agent !== agent) continue
    total += 1
    if (cursor && !isBefore(head, cursor)) continue
    if (heads.length < limit) heads.push(head)
    else more = true
  }
  return { heads, more, total }
}

/** A block splits at twice this size; small enough to splice, large enough that there are few. */
const blockSize = 256

/**
 * Task heads in ascending order of timestamp, then id, in sorted blocks: finding, adding and removing cost a binary search
 * and one small splice, a page costs its own length, and a count costs one addition per block. Nothing is sorted again,
 * however many there are.
 */
export class OrderedHeads {
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

  /** Removes the head with this one's timestamp and id. */
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

  /** How many there are with this timestamp or a later one. */
  countFrom(timestamp: string): number {
    const floor = { timestamp, id: '' }
    const at = blockOf(this.#blocks, floor)
    const block = this.#blocks[at]
    if (block === undefined) return 0
    let count = block.length - placeIn(block, floor)
    for (const later of this.#blocks.slice(at + 1)) count += later.length
    return count
  }

  /** From the newest on, strictly before `cursor` where there is one. */
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
