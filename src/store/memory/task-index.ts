import { taskStates } from '../../protocol/task.ts'
import type { TaskState } from '../../protocol/types.ts'
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

/** Finds the tasks of a list in memory without looking at the others. Every list is kept from its first task on. */
export class TaskIndex {
  readonly #all = new OrderedHeads()
  readonly #agents = new Map<string, AgentHeads>()
  /** The tasks of each context: one alone, or those of one scope, or those of each of several. */
  readonly #contexts = new Map<string, TaskHead | OrderedHeads | Map<string, OrderedHeads>>()

  /** A task was created, changed its columns, or was removed. */
  move(from: TaskHead | undefined, to: TaskHead | undefined): void {
    if (isSamePlace(from, to)) return
    if (from) this.#remove(from)
    if (to) this.#add(to)
  }

  /** A page of one scope. */
  page(filter: TaskListFilter): HeadPage {
    const { scope, contextId } = filter
    const list =
      contextId === undefined
        ? this.#agents.get(scope.agent)?.listOf(scope)
        : this.#listsOf(contextId).find((one) => one.scope && isSameScope(one.scope, scope))
    return pageOf(list ? [list] : [], filter)
  }

  /** A page over all scopes. */
  pageOfAll(filter: AllTasksFilter): HeadPage {
    const { agent, contextId } = filter
    if (contextId === undefined) {
      const list = agent === undefined ? this.#all : this.#agents.get(agent)?.all
      return pageOf(list ? [list] : [], filter)
    }
    const lists = this.#listsOf(contextId)
    return pageOf(
      agent === undefined ? lists : lists.filter(({ scope }) => scope?.agent === agent),
      filter,
    )
  }

  #listsOf(contextId: string): readonly OrderedHeads[] {
    const found = this.#contexts.get(contextId)
    if (found === undefined) return []
    if (found instanceof Map) return [...found.values()]
    return [found instanceof OrderedHeads ? found : new OrderedHeads(found)]
  }

  #add(head: TaskHead): void {
    this.#all.add(head)
    let agent = this.#agents.get(head.scope.agent)
    if (agent === undefined) {
      agent = new AgentHeads()
      this.#agents.set(head.scope.agent, agent)
    }
    agent.add(head)
    this.#addToContext(head)
  }

  #addToContext(head: TaskHead): void {
    const { contextId, scope } = head
    const found = this.#contexts.get(contextId)
    if (found === undefined) this.#contexts.set(contextId, head)
    else if (found instanceof Map) {
      const key = scopeKey(scope)
      const list = found.get(key)
      if (list) list.add(head)
      else found.set(key, new OrderedHeads(head))
    } else {
      const list = found instanceof OrderedHeads ? found : new OrderedHeads(found)
      const known = list.scope ?? scope
      if (isSameScope(known, scope)) {
        list.add(head)
        this.#contexts.set(contextId, list)
      } else
        this.#contexts.set(
          contextId,
          new Map([
            [scopeKey(known), list],
            [scopeKey(scope), new OrderedHeads(head)],
          ]),
        )
    }
  }

  #remove(head: TaskHead): void {
    const { contextId, scope } = head
    this.#all.remove(head)
    const agent = this.#agents.get(scope.agent)
    agent?.remove(head)
    if (agent?.all.size === 0) this.#agents.delete(scope.agent)
    const found = this.#contexts.get(contextId)
    if (found instanceof Map) {
      const list = found.get(scopeKey(scope))
      list?.remove(head)
      if (list?.size === 0) found.delete(scopeKey(scope))
      if (found.size === 0) this.#contexts.delete(contextId)
    } else if (found instanceof OrderedHeads) {
      found.remove(head)
      if (found.size === 0) this.#contexts.delete(contextId)
    } else if (found?.id === head.id) this.#contexts.delete(contextId)
  }
}

/** The tasks of an agent, and of each scope with it. */
class AgentHeads {
  readonly all = new OrderedHeads()
  /** By tenant, then by owner. */
  readonly #tenants = new Map<string, Map<string, OrderedHeads>>()

  listOf({ tenant, owner }: Scope): OrderedHeads | undefined {
    return this.#tenants.get(tenant)?.get(owner)
  }

  add(head: TaskHead): void {
    const { tenant, owner } = head.scope
    this.all.add(head)
    let owners = this.#tenants.get(tenant)
    if (owners === undefined) {
      owners = new Map()
      this.#tenants.set(tenant, owners)
    }
    const list = owners.get(owner)
    if (list) list.add(head)
    else owners.set(owner, new OrderedHeads(head))
  }

  remove(head: TaskHead): void {
    const { tenant, owner } = head.scope
    this.all.remove(head)
    const owners = this.#tenants.get(tenant)
    const list = owners?.get(owner)
    list?.remove(head)
    if (list?.size === 0) owners?.delete(owner)
    if (owners?.size === 0) this.#tenants.delete(tenant)
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

/** A page of lists that have no task in common. */
function pageOf(lists: readonly OrderedHeads[], filter: ListConditions): HeadPage {
  const { state, timestampAfter, cursor, limit } = filter
  const wanted = { state, floor: timestampAfter, cursor, limit: limit + 1 }
  let total = 0
  for (const list of lists) total += list.count(timestampAfter, state)
  const found = lists.map((list) => list.newest(wanted))
  const [first = []] = found
  const heads = found.length > 1 ? found.flat().sort((a, b) => (isBefore(a, b) ? 1 : -1)) : first
  return { heads: heads.slice(0, limit), more: heads.length > limit, total }
}

/** Which heads of a list are wanted. */
interface WantedHeads {
  readonly state?: TaskState | undefined
  /** Those of this moment or later. */
  readonly floor?: string | undefined
  /** Those strictly before this place. */
  readonly cursor?: TaskCursor | undefined
  readonly limit: number
}

/** Heads of a block when the next one is begun; at twice as many a block is split. */
const blockSize = 512

/** Removed heads that a block may hold on to. */
const maxRemoved = 32

/** Heads in ascending order. */
class Block {
  heads: TaskHead[]
  /** Where they begin: heads before it were removed. */
  from = 0
  /** How many there are of each state; absent in the newest block, which changes often. */
  #counts: number[] | undefined

  constructor(heads: TaskHead[]) {
    this.heads = heads
  }

  get size(): number {
    return this.heads.length - this.from
  }

  get first(): TaskHead | undefined {
    return this.heads[this.from]
  }

  get last(): TaskHead | undefined {
    return this.heads[this.heads.length - 1]
  }

  /** Counts the states, from when it is no longer the newest. */
  close(): void {
    const counts = Array.from({ length: taskStates.length + 1 }, () => 0)
    for (let i = this.from; i < this.heads.length; i++) {
      const number = numberOf(this.heads[i]?.state)
      counts[number] = (counts[number] ?? 0) + 1
    }
    this.#counts = counts
  }

  count(state: TaskState | undefined, number: number): number {
    if (state === undefined) return this.size
    return this.#counts?.[number] ?? this.countFrom(this.from, state)
  }

  countFrom(place: number, state: TaskState | undefined): number {
    if (state === undefined) return this.heads.length - place
    let count = 0
    for (let i = place; i < this.heads.length; i++) if (this.heads[i]?.state === state) count += 1
    return count
  }

  /** Adds a newest head. A block that was closed before is the newest again once those after it are gone. */
  append(head: TaskHead): void {
    this.heads.push(head)
    this.#counts = undefined
  }

  insert(head: TaskHead): void {
    this.heads.splice(this.placeOf(head), 0, head)
    if (this.#counts) this.close()
  }

  /** Whether it was there. */
  remove(head: TaskHead): boolean {
    const { first } = this
    const place = isSameTask(first, head) ? this.from : this.placeOf(head)
    const found = this.heads[place]
    if (!found || !isSameTask(found, head)) return false
    if (place > this.from) this.heads.splice(place, 1)
    else if (++this.from > maxRemoved && this.from * 2 > this.heads.length) {
      this.heads.splice(0, this.from)
      this.from = 0
    }
    if (this.#counts) {
      const number = numberOf(found.state)
      this.#counts[number] = (this.#counts[number] ?? 0) - 1
    }
    return true
  }

  /** The first place with a head that is not before the key. */
  placeOf(key: TaskCursor): number {
    return search(this.heads, this.from, key)
  }

  /** Moves the upper half to a block of its own. */
  split(): Block {
    const upper = new Block(this.heads.splice(this.from + blockSize))
    this.close()
    return upper
  }
}

const stateNumbers: Readonly<Record<string, number>> = Object.fromEntries(
  taskStates.map((state, i) => [state, i + 1]),
)

/** The place of a state among the counts of a block; 0 for any other text. */
function numberOf(state: TaskState | undefined): number {
  return state === undefined ? 0 : (stateNumbers[state] ?? 0)
}

/**
 * Task heads in ascending order of timestamp, then id, in blocks that count their states. Adding a newest head or removing the
 * oldest costs next to nothing; for others it costs a search and one small splice. A page costs its own length, and a count one
 * addition per block.
 */
export class OrderedHeads {
  readonly #blocks: Block[] = []
  /** How many there are of each state. */
  readonly #states = Array.from({ length: taskStates.length + 1 }, () => 0)
  size = 0

  constructor(first?: TaskHead) {
    if (first) this.add(first)
  }

  /** The scope of its tasks, where all have the same one. */
  get scope(): Scope | undefined {
    return this.#blocks[0]?.first?.scope
  }

  add(head: TaskHead): void {
    const blocks = this.#blocks
    const newest = blocks[blocks.length - 1]
    this.#step(head.state, 1)
    if (newest === undefined) blocks.push(new Block([head]))
    else if (!isLower(newest.last, head)) this.#insert(head)
    else if (newest.heads.length < blockSize) newest.append(head)
    else {
      newest.close()
      blocks.push(new Block([head]))
    }
  }

  #insert(head: TaskHead): void {
    const at = this.#blockOf(head)
    const block = this.#blocks[at]
    block?.insert(head)
    if (!block || block.size < 2 * blockSize) return
    const upper = block.split()
    this.#blocks.splice(at + 1, 0, upper)
    if (at + 2 < this.#blocks.length) upper.close()
  }

  /** Removes the head with this one's timestamp and id. */
  remove(head: TaskHead): void {
    const blocks = this.#blocks
    const at = isSameTask(blocks[0]?.first, head) ? 0 : this.#blockOf(head)
    const block = blocks[at]
    if (!block?.remove(head)) return
    this.#step(head.state, -1)
    if (block.size === 0) blocks.splice(at, 1)
  }

  #step(state: TaskState, by: 1 | -1): void {
    const number = numberOf(state)
    this.size += by
    this.#states[number] = (this.#states[number] ?? 0) + by
  }

  /** How many there are with this timestamp or a later one, in this state. */
  count(timestamp = '', state?: TaskState): number {
    const blocks = this.#blocks
    const number = numberOf(state)
    if (timestamp === '') return state === undefined ? this.size : (this.#states[number] ?? 0)
    const floor = { timestamp, id: '' }
    const at = this.#blockOf(floor)
    const block = blocks[at]
    let count = block ? block.countFrom(block.placeOf(floor), state) : 0
    for (let i = at + 1; i < blocks.length; i++) count += blocks[i]?.count(state, number) ?? 0
    return count
  }

  /** The wanted heads, newest first. Blocks without the state are skipped. */
  newest({ state, floor = '', cursor, limit }: WantedHeads): TaskHead[] {
    const found: TaskHead[] = []
    const number = numberOf(state)
    const start = cursor === undefined ? this.#blocks.length - 1 : this.#blockOf(cursor)
    for (let at = Math.min(start, this.#blocks.length - 1); at >= 0; at--) {
      const block = this.#blocks[at]
      if (block === undefined || (state !== undefined && block.count(state, number) === 0)) continue
      const end = cursor === undefined ? block.heads.length : block.placeOf(cursor)
      for (let i = end - 1; i >= block.from; i--) {
        const head = block.heads[i]
        if (head === undefined || head.timestamp < floor || found.length === limit) return found
        if (state === undefined || head.state === state) found.push(head)
      }
    }
    return found
  }

  /** The first block that does not end before the key; the number of blocks if all of them do. */
  #blockOf(key: TaskCursor): number {
    const blocks = this.#blocks
    let [from, to] = [0, blocks.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if (isLower(blocks[middle]?.last, key)) from = middle + 1
      else to = middle
    }
    return from
  }
}

/** Binary search: the first place, from one on, with a head that is not before the key. */
function search(heads: readonly TaskHead[], start: number, key: TaskCursor): number {
  let [from, to] = [start, heads.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (isLower(heads[middle], key)) from = middle + 1
    else to = middle
  }
  return from
}

function isSameTask(a: TaskHead | undefined, b: TaskHead): boolean {
  return a !== undefined && a.id === b.id && a.timestamp === b.timestamp
}

function isLower(head: TaskHead | undefined, key: TaskCursor): boolean {
  return head !== undefined && isBefore(head, key)
}
