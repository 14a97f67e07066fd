import type { JsonObject } from '../../index.ts'
import {
  amountAt,
  idsAt,
  type TraceNode,
  type TraceTotal,
  type TraceTree,
  textAt,
  timeOf,
} from './trace.ts'

/** A node while it grows. */
interface Growing extends TraceNode {
  children: Growing[]
  words: string
  standing: TraceNode['standing']
  outcome?: string
  tries: number
  durationMs?: number
  inputTokens?: number
  outputTokens?: number
  costUsd?: number
}

const mostNodes = 2_000
const deepest = 24

/** Makes an empty tree. */
export function createTree(): TraceTree {
  return new Tree()
}

/** The tree of these entries. */
export function toTree(entries: readonly JsonObject[]): TraceTree {
  const tree = createTree()
  for (const entry of entries) tree.add(entry)
  return tree
}

/** The members that are at work and wait for no other, by their ids. */
export function openMembers({ nodes }: Pick<TraceTree, 'nodes'>): readonly string[] {
  return nodes.flatMap((node) => {
    if (node.kind !== 'member' || node.standing !== 'open') return []
    const below = openMembers({ nodes: node.children })
    return below.length > 0 ? below : [node.label]
  })
}

class Tree implements TraceTree {
  readonly nodes: Growing[] = []
  leftOut = 0
  #count = 0
  #first: number | undefined
  #last: number | undefined
  #input: number | undefined
  #output: number | undefined
  #cost: number | undefined
  /** The calls of members, the latest of each, by the way to what they did themselves. */
  readonly #calls = new Map<string, Growing>()
  /** Who has decided, by the way to its team, and for whom. */
  readonly #decisions = new Map<string, { readonly call: Growing; readonly for: Set<string> }>()
  /** The latest call of a member, by the way to its team. */
  readonly #members = new Map<string, Growing>()

  get total(): TraceTotal {
    const [first, last] = [this.#first, this.#last]
    const [inputTokens, outputTokens, costUsd] = [this.#input, this.#output, this.#cost]
    return {
      ...(first !== undefined && { began: first }),
      ...(first !== undefined && last !== undefined && { durationMs: Math.max(0, last - first) }),
      ...(inputTokens !== undefined && { inputTokens }),
      ...(outputTokens !== undefined && { outputTokens }),
      ...(costUsd !== undefined && { costUsd }),
    }
  }

  add(entry: JsonObject): TraceNode | undefined {
    this.#sum(entry)
    const type = textAt(entry, 'type')
    const take = Object.hasOwn(takers, type) ? takers[type] : undefined
    return take ? take(this, entry) : this.note(entry, type)
  }

  /** A member's answer says what it used in all; only what has no member above it counts. */
  #sum(entry: JsonObject): void {
    const time = timeOf(entry)
    this.#first ??= time
    this.#last = time ?? this.#last
    if (textAt(entry, 'path') !== '') return
    const { inputTokens, outputTokens, costUsd } = amountsIn(entry)
    if (inputTokens !== undefined) this.#input = (this.#input ?? 0) + inputTokens
    if (outputTokens !== undefined) this.#output = (this.#output ?? 0) + outputTokens
    if (costUsd !== undefined) this.#cost = (this.#cost ?? 0) + costUsd
  }

  delegate(entry: JsonObject): Growing | undefined {
    const [path, member] = [textAt(entry, 'path'), textAt(entry, 'member')]
    const key = callKey(entry)
    const before = this.#calls.get(key)
    if (before?.standing === 'failed' || (before?.standing === 'open' && triesOf(entry) > 1)) {
      before.standing = 'open'
      before.tries = triesOf(entry)
      return before
    }
    const node = this.grow(this.#parentOf(path, member), {
      kind: 'member',
      label: member,
      words: textAt(entry, 'text'),
      standing: 'open',
      ...began(entry),
    })
    if (!node) return undefined
    this.#calls.set(key, node)
    this.#members.set(`${path} ${member}`, node)
    return node
  }

  end(entry: JsonObject, standing: 'done' | 'failed'): Growing | undefined {
    const node = this.#calls.get(callKey(entry))
    if (!node) return undefined
    node.standing = standing
    node.words = textAt(entry, 'text') || node.words
    Object.assign(node, amountsIn(entry))
    const outcome = standing === 'failed' ? textAt(entry, 'reason') : stateWord(entry)
    if (outcome) node.outcome = outcome
    else delete node.outcome
    return node
  }

  /** While it decides, those it calls stand below it; a decision that comes after its answer is a line of its own. */
  decide(entry: JsonObject): Growing | undefined {
    const [path, member] = [textAt(entry, 'path'), textAt(entry, 'member')]
    const recipients = idsAt(entry, 'recipients')
    const call = this.#members.get(`${path} ${member}`)
    if (call?.standing === 'open' && textAt(entry, 'reason') === '') {
      this.#decisions.set(path, { call, for: new Set(recipients) })
      return undefined
    }
    this.#decisions.delete(path)
    const words = recipients.length > 0 ? `→ ${recipients.join(', ')}` : 'is done'
    return this.note(entry, `${member} ${words}`, textAt(entry, 'reason'))
  }

  note(
    entry: JsonObject,
    label: string,
    words: string = textAt(entry, 'text'),
  ): Growing | undefined {
    if (label === '') return undefined
    const parent = this.#calls.get(textAt(entry, 'path'))
    return this.grow(parent, { kind: 'note', label, words, standing: 'done', ...began(entry) })
  }

  /** What a member did that has its own time: a round of its model, a tool. */
  act(entry: JsonObject, facts: Pick<TraceNode, 'kind' | 'label' | 'words'>): Growing | undefined {
    const failed = entry.failed === true
    return this.grow(this.#calls.get(textAt(entry, 'path')), {
      ...facts,
      standing: failed ? 'failed' : 'done',
      ...(failed && { outcome: 'failed' }),
      ...began(entry),
      ...amountsIn(entry),
    })
  }

  #parentOf(path: string, member: string): Growing | undefined {
    const decision = this.#decisions.get(path)
    const decides = decision?.call.standing === 'open' && decision.for.has(member)
    return decides ? decision.call : this.#calls.get(path)
  }

  grow(
    parent: Growing | undefined,
    facts: Omit<Growing, 'children' | 'depth' | 'tries'>,
  ): Growing | undefined {
    const depth = parent ? parent.depth + 1 : 0
    if (this.#count >= mostNodes || depth > deepest) {
      this.leftOut++
      return undefined
    }
    this.#count++
    const node: Growing = { ...facts, depth, tries: 1, children: [] }
    if (parent) parent.children.push(node)
    else this.nodes.push(node)
    return node
  }
}

type Take = (tree: Tree, entry: JsonObject) => TraceNode | undefined

const takers: Readonly<Record<string, Take | undefined>> = {
  delegation: (tree, entry) => tree.delegate(entry),
  reply: (tree, entry) => tree.end(entry, 'done'),
  failure: (tree, entry) => tree.end(entry, 'failed'),
  // The delegation that follows says that it is tried again.
  retry: () => undefined,
  fallback: (tree, entry) =>
    tree.note(entry, `${textAt(entry, 'to')} takes the place of ${textAt(entry, 'member')}`),
  decision: (tree, entry) => tree.decide(entry),
  approval: (tree, entry) =>
    tree.note(entry, `${textAt(entry, 'step')} ${textAt(entry, 'verdict')}`),
  'tool-approval': (tree, entry) =>
    tree.note(entry, `tool ${textAt(entry, 'tool')} ${textAt(entry, 'verdict')}`),
  skip: (tree, entry) => tree.note(entry, `${textAt(entry, 'step')} skipped`),
  model: (tree, entry) =>
    tree.act(entry, {
      kind: 'model',
      label: textAt(entry, 'model') || 'model',
      words: idsAt(entry, 'calls').join(', ') || textAt(entry, 'text'),
    }),
  tool: (tree, entry) => {
    const label = textAt(entry, 'tool') || 'tool'
    // Whom it called stands there already.
    if (/^(?:delegate|transfer)_to_/.test(label) && entry.failed !== true) return undefined
    return tree.act(entry, { kind: 'tool', label, words: textAt(entry, 'arguments') })
  },
}

/** The way to what a call's member does itself: that of its team, then the step and the member. */
function callKey(entry: JsonObject): string {
  const [path, step, member] = ['path', 'step', 'member'].map((key) => textAt(entry, key))
  return `${path ? `${path}/` : ''}${step}:${member}`
}

type Amounts = Pick<TraceNode, 'durationMs' | 'inputTokens' | 'outputTokens' | 'costUsd'>

function amountsIn(entry: JsonObject): Amounts {
  return {
    ...amountAt(entry, 'durationMs'),
    ...amountAt(entry, 'inputTokens'),
    ...amountAt(entry, 'outputTokens'),
    ...amountAt(entry, 'costUsd'),
  }
}

function triesOf(entry: JsonObject): number {
  return amountAt(entry, 'try').try ?? 1
}

function began(entry: JsonObject): { readonly began?: number } {
  const time = timeOf(entry)
  return time === undefined ? {} : { began: time }
}

/** How a call ended, unless it just completed. */
function stateWord(entry: JsonObject): string {
  const state = textAt(entry, 'state').replace('TASK_STATE_', '').toLowerCase()
  return state === 'completed' ? '' : state.replaceAll('_', '-')
}
