import { isBefore } from '../list.ts'
import { isSameScope, scopeKey } from '../scope.ts'
import type { AllTasksFilter, ListConditions, Scope, TaskHead, TaskListFilter } from '../store.ts'
import { createOrderedHeads, type OrderedHeads } from './ordered-heads.ts'

/** Finds the tasks of a list in memory without looking at the others. */
export interface TaskIndex {
  /** A task came into being, changed its columns, or went away. */
  move(from: TaskHead | undefined, to: TaskHead | undefined): void
  /** The heads of a page, whether more follow, and how many match in all. */
  page(filter: TaskListFilter): HeadPage
  /** The same over all scopes. */
  pageOfAll(filter: AllTasksFilter): HeadPage
}

/** A page of heads. */
export interface HeadPage {
  readonly heads: readonly TaskHead[]
  readonly more: boolean
  readonly total: number
}

/** Which columns a list filters by; there is one ordered list per value of them. */
interface Kind {
  readonly scope: boolean
  readonly context: boolean
  readonly state: boolean
  readonly lists: Map<string, OrderedHeads>
}

/**
 * An index by scope and by what is filtered. A kind of filter is indexed from its first use on, so that a server
 * whose tasks nobody lists pays nothing for it. `all` gives the heads at that moment.
 */
export function createTaskIndex(all: () => Iterable<TaskHead>): TaskIndex {
  const kinds: Kind[] = []

  function listFor(filter: ListConditions, ofScope?: Scope): OrderedHeads | undefined {
    const { contextId, state } = filter
    const wanted = {
      scope: ofScope !== undefined,
      context: contextId !== undefined,
      state: state !== undefined,
    }
    const known = kinds.find((kind) => isSameKind(kind, wanted))
    return (known ?? indexed(wanted)).lists.get(keyOf(ofScope, contextId, state))
  }

  function indexed(wanted: Omit<Kind, 'lists'>): Kind {
    const kind: Kind = { ...wanted, lists: new Map() }
    for (const head of all()) add(kind, head)
    kinds.push(kind)
    return kind
  }

  return {
    move(from, to) {
      if (kinds.length === 0 || isSamePlace(from, to)) return
      for (const kind of kinds) {
        if (from) remove(kind, from)
        if (to) add(kind, to)
      }
    },
    page: (filter) => pageIn(listFor(filter, filter.scope), filter),
    pageOfAll(filter) {
      const list = listFor(filter)
      return filter.agent === undefined ? pageIn(list, filter) : pageOfAgent(list, filter)
    },
  }
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

/** Looks at every head of the list: one agent among all scopes is asked for by few. */
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

function isSameKind(a: Omit<Kind, 'lists'>, b: Omit<Kind, 'lists'>): boolean {
  return a.scope === b.scope && a.context === b.context && a.state === b.state
}

function add(kind: Kind, head: TaskHead): void {
  const key = keyIn(kind, head)
  const list = kind.lists.get(key) ?? createOrderedHeads()
  if (list.size === 0) kind.lists.set(key, list)
  list.add(head)
}

function remove(kind: Kind, head: TaskHead): void {
  const key = keyIn(kind, head)
  const list = kind.lists.get(key)
  list?.remove(head)
  if (list?.size === 0) kind.lists.delete(key)
}

function keyIn(kind: Kind, head: TaskHead): string {
  return keyOf(
    kind.scope ? head.scope : undefined,
    kind.context ? head.contextId : undefined,
    kind.state ? head.state : undefined,
  )
}

function keyOf(scope: Scope | undefined, contextId = '', state = ''): string {
  return `${scope ? scopeKey(scope) : ''}${contextId.length}:${contextId}${state}`
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
