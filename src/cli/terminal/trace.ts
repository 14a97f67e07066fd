import {
  type AgentCard,
  type Json,
  type JsonObject,
  type Task,
  traceExtension,
} from '../../index.ts'
import { toPrintableLine } from '../../shared/text.ts'
import {
  costText,
  dim,
  durationText,
  inColourOf,
  type Piece,
  toFirstWords,
  tokensText,
} from './text.ts'
import { clipPieces, clipText, pad, widthOf } from './width.ts'

/** One thing that happened. */
export interface TraceNode {
  readonly kind: 'member' | 'model' | 'tool' | 'note'
  /** The member's id, the model's or the tool's name, or a few words. */
  readonly label: string
  readonly depth: number
  readonly children: TraceNode[]
  /** What was asked, said or given as arguments. */
  words: string
  standing: 'open' | 'done' | 'failed'
  /** The state it ended in, or why it failed, where that is worth a word. */
  outcome?: string
  /** How often it was tried. */
  tries: number
  readonly began?: number
  durationMs?: number
  inputTokens?: number
  outputTokens?: number
  costUsd?: number
}

type Amounts = Pick<TraceNode, 'durationMs' | 'inputTokens' | 'outputTokens' | 'costUsd'>

/** Whether an agent shows what happens inside its tasks to callers that ask for it. */
export function declaresTrace({ capabilities }: AgentCard): boolean {
  return capabilities.extensions?.some(({ uri }) => uri === traceExtension) ?? false
}

/** The trace in a task's metadata; empty if there is none. */
export function traceOf({ metadata }: Pick<Task, 'metadata'>): readonly JsonObject[] {
  const entries = metadata?.[traceExtension]
  return Array.isArray(entries) ? entries.filter(isObject) : []
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The entry that an event brings along. */
export function entryIn(metadata: JsonObject | undefined): JsonObject | undefined {
  const entry = metadata?.[traceExtension]
  return isObject(entry) ? entry : undefined
}

/** Whether two entries are the same one: in a stream they have no number. */
export function entryKey({ seq: _seq, at: _at, ...entry }: JsonObject): string {
  return JSON.stringify(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The tree of these entries. */
export function toTree(entries: readonly JsonObject[]): TraceTree {
  const tree = new TraceTree()
  for (const entry of entries) tree.add(entry)
  return tree
}

const mostNodes = 2_000
const deepest = 24

/**
 * What happened inside a task, as a tree: members that were called, and below each what it did – rounds of its model,
 * tools, members that it called in turn. Made of the entries of the trace extension, which a stranger may have written:
 * what does not fit is left out, and there are bounds.
 */
export class TraceTree {
  readonly nodes: TraceNode[] = []
  /** What all of it took so far. */
  readonly total: Amounts & { began?: number } = {}
  /** How many entries the bounds left out. */
  leftOut = 0
  #count = 0
  /** The calls of members, the latest of each, by the path to what they did themselves. */
  readonly #calls = new Map<string, TraceNode>()
  /** Who has decided, by the path to its team, and for whom. */
  readonly #decisions = new Map<string, { readonly call: TraceNode; readonly for: Set<string> }>()
  /** The latest call of a member, by the path to its team. */
  readonly #members = new Map<string, TraceNode>()

  /** Takes in an entry; gives back the node that it made or changed. */
  add(entry: JsonObject): TraceNode | undefined {
    this.#sum(entry)
    const type = textAt(entry, 'type')
    switch (type) {
      case 'delegation':
        return this.#delegate(entry)
      case 'reply':
        return this.#end(entry, 'done')
      case 'failure':
        return this.#end(entry, 'failed')
      case 'retry':
        // The delegation that follows says that it is tried again.
        return undefined
      case 'fallback':
        return this.#note(
          entry,
          `${textAt(entry, 'to')} takes the place of ${textAt(entry, 'member')}`,
        )
      case 'decision':
        return this.#decide(entry)
      case 'approval':
        return this.#note(entry, `${textAt(entry, 'step')} ${textAt(entry, 'verdict')}`)
      case 'tool-approval':
        return this.#note(entry, `tool ${textAt(entry, 'tool')} ${textAt(entry, 'verdict')}`)
      case 'skip':
        return this.#note(entry, `${textAt(entry, 'step')} skipped`)
      case 'code-changed':
        return this.#note(entry, `code of ${textAt(entry, 'agent')} changed`)
      case 'model': {
        const words = idsAt(entry, 'calls').join(', ') || textAt(entry, 'text')
        return this.#act(entry, { kind: 'model', label: textAt(entry, 'model') || 'model', words })
      }
      case 'tool': {
        const label = textAt(entry, 'tool') || 'tool'
        // The delegation has a node of its own.
        if (/^(?:delegate|transfer)_to_/.test(label) && entry.failed !== true) return undefined
        return this.#act(entry, { kind: 'tool', label, words: textAt(entry, 'arguments') })
      }
      default:
        return this.#note(entry, type)
    }
  }

  /** The amounts of a member's reply include those of the members below it, so only the highest ones count. */
  #sum(entry: JsonObject): void {
    const { total } = this
    const time = timeOf(entry)
    if (time !== undefined) {
      total.began ??= time
      total.durationMs = Math.max(0, time - total.began)
    }
    if (textAt(entry, 'path') !== '') return
    const amounts = amountsIn(entry)
    for (const name of ['inputTokens', 'outputTokens', 'costUsd'] as const) {
      const amount = amounts[name]
      if (amount !== undefined) total[name] = (total[name] ?? 0) + amount
    }
  }

  #delegate(entry: JsonObject): TraceNode | undefined {
    const [path, member] = [textAt(entry, 'path'), textAt(entry, 'member')]
    const key = callKey(entry)
    const before = this.#calls.get(key)
    const tries = amountAt(entry, 'try') ?? 1
    if (before?.standing === 'failed' || (before?.standing === 'open' && tries > 1)) {
      before.standing = 'open'
      before.tries = tries
      return before
    }
    const facts = { kind: 'member', label: member, words: textAt(entry, 'text') } as const
    const node = this.#grow(entry, this.#parentOf(path, member), { ...facts, standing: 'open' })
    if (!node) return undefined
    this.#calls.set(key, node)
    this.#members.set(`${path} ${member}`, node)
    return node
  }

  #end(entry: JsonObject, standing: 'done' | 'failed'): TraceNode | undefined {
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

  /** While a member decides, those it calls stand below it; a decision that comes after its answer is a line of its own. */
  #decide(entry: JsonObject): TraceNode | undefined {
    const [path, member] = [textAt(entry, 'path'), textAt(entry, 'member')]
    const recipients = idsAt(entry, 'recipients')
    const call = this.#members.get(`${path} ${member}`)
    if (call?.standing === 'open' && textAt(entry, 'reason') === '') {
      this.#decisions.set(path, { call, for: new Set(recipients) })
      return undefined
    }
    this.#decisions.delete(path)
    const words = recipients.length > 0 ? `→ ${recipients.join(', ')}` : 'is done'
    return this.#note(entry, `${member} ${words}`, textAt(entry, 'reason'))
  }

  #note(entry: JsonObject, label: string, words = textAt(entry, 'text')): TraceNode | undefined {
    if (label === '') return undefined
    const parent = this.#calls.get(textAt(entry, 'path'))
    return this.#grow(entry, parent, { kind: 'note', label, words, standing: 'done' })
  }

  /** What a member did that has its own time: a round of its model, a tool. */
  #act(
    entry: JsonObject,
    facts: Pick<TraceNode, 'kind' | 'label' | 'words'>,
  ): TraceNode | undefined {
    const end =
      entry.failed === true
        ? ({ standing: 'failed', outcome: 'failed' } as const)
        : ({ standing: 'done' } as const)
    const parent = this.#calls.get(textAt(entry, 'path'))
    return this.#grow(entry, parent, { ...facts, ...end, ...amountsIn(entry) })
  }

  #parentOf(path: string, member: string): TraceNode | undefined {
    const decision = this.#decisions.get(path)
    const decides = decision?.call.standing === 'open' && decision.for.has(member)
    return decides ? decision.call : this.#calls.get(path)
  }

  #grow(
    entry: JsonObject,
    parent: TraceNode | undefined,
    facts: Omit<TraceNode, 'children' | 'depth' | 'tries' | 'began'>,
  ): TraceNode | undefined {
    const depth = parent ? parent.depth + 1 : 0
    if (this.#count >= mostNodes || depth > deepest) {
      this.leftOut++
      return undefined
    }
    this.#count++
    const began = timeOf(entry)
    const node = { ...facts, ...(began !== undefined && { began }), depth, tries: 1, children: [] }
    const siblings = parent?.children ?? this.nodes
    siblings.push(node)
    return node
  }
}

/** The text of an entry under a key; empty if there is none. */
export function textAt(entry: JsonObject, key: string): string {
  const value = entry[key]
  return typeof value === 'string' ? value : ''
}

/** The texts in a list. */
function idsAt(entry: JsonObject, key: string): readonly string[] {
  const value = entry[key]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** When an entry was written, in milliseconds. */
function timeOf(entry: JsonObject): number | undefined {
  const time = Date.parse(textAt(entry, 'time'))
  return Number.isNaN(time) ? undefined : time
}

/** A number of an entry that can be shown as an amount. */
function amountAt(entry: JsonObject, key: string): number | undefined {
  const value = entry[key]
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

const amountNames = ['durationMs', 'inputTokens', 'outputTokens', 'costUsd'] as const

function amountsIn(entry: JsonObject): Amounts {
  const amounts: Amounts = {}
  for (const name of amountNames) {
    const amount = amountAt(entry, name)
    if (amount !== undefined) amounts[name] = amount
  }
  return amounts
}

/** The path to what a call's member does itself: that of its team, then the step and the member. */
function callKey(entry: JsonObject): string {
  const [path, step, member] = ['path', 'step', 'member'].map((key) => textAt(entry, key))
  return `${path ? `${path}/` : ''}${step}:${member}`
}

/** How a call ended, unless it just completed. */
function stateWord(entry: JsonObject): string {
  const state = textAt(entry, 'state').replace('TASK_STATE_', '').toLowerCase()
  return state === 'completed' ? '' : state.replaceAll('_', '-')
}

/** How a tree is shown. */
interface TreeView {
  readonly columns: number
  /** The time, in milliseconds: what is under way shows how long it has been. */
  readonly now: number
}

/** A trace for a person: what all of it took, then the tree. */
export function toTraceLines(tree: TraceTree, view: TreeView): readonly (readonly Piece[])[] {
  const { began = view.now, durationMs, inputTokens, outputTokens, costUsd } = tree.total
  const isOpen = openMembers(tree).length > 0
  const time = durationText(isOpen ? Math.max(0, view.now - began) : durationMs)
  const tokens = tokensText(inputTokens, outputTokens)
  const facts = [time, tokens && `${tokens} tokens`, costText(costUsd)].filter((one) => one !== '')
  return [[dim(['trace', ...facts].join('  '))], ...toTreeLines(tree, view)]
}

/** The members that are at work and wait for no other, by their ids. */
export function openMembers({ nodes }: Pick<TraceTree, 'nodes'>): readonly string[] {
  return nodes.flatMap((node) => {
    if (node.kind !== 'member' || node.standing !== 'open') return []
    const below = openMembers({ nodes: node.children })
    return below.length > 0 ? below : [node.label]
  })
}

/** A line of the tree, before its columns are aligned. */
interface TreeRow {
  /** The branches before the label. */
  readonly branch: string
  readonly node: TraceNode
  readonly label: string
  /** How long it took, its tokens and its costs. */
  readonly amounts: readonly string[]
}

/** A tree as lines: who was called and what it did, how long that took, tokens in and out, costs, and the first words. */
function toTreeLines({ nodes, leftOut }: TraceTree, view: TreeView): readonly (readonly Piece[])[] {
  const rows = toRows(nodes, '', view)
  const widest = (of: (row: TreeRow) => string): number =>
    rows.reduce((most, row) => Math.max(most, widthOf(of(row))), 0)
  const label = Math.min(
    widest((row) => row.branch + row.label),
    Math.max(16, Math.floor(view.columns / 2)),
  )
  const amounts = [0, 1, 2].map((i) => widest((row) => row.amounts[i] ?? ''))
  const lines = rows.map((row) => toLine(row, { label, amounts, columns: view.columns }))
  return leftOut === 0 ? lines : [...lines, [dim(`… and ${leftOut} more entries`)]]
}

function toRows(nodes: readonly TraceNode[], before: string, view: TreeView): readonly TreeRow[] {
  return nodes.flatMap((node, i) => {
    const [fork, line] = i === nodes.length - 1 ? ['└─ ', '   '] : ['├─ ', '│  ']
    const { inputTokens, outputTokens, costUsd } = node
    const time = durationText(timeFor(node, view.now))
    const amounts = [time, tokensText(inputTokens, outputTokens), costText(costUsd)]
    const row = { branch: before + fork, node, label: labelOf(node), amounts }
    return [row, ...toRows(node.children, before + line, view)]
  })
}

const signs = { member: '', model: 'model ', tool: 'tool ', note: '' } as const

function labelOf({ kind, label, standing, outcome, tries }: TraceNode): string {
  const sign = standing === 'open' ? '… ' : standing === 'failed' ? '✗ ' : ''
  const facts = [outcome === 'failed' ? '' : outcome, tries > 1 ? `try ${tries}` : '']
  const end = facts.filter(Boolean).join(', ')
  return toPrintableLine(`${sign}${signs[kind]}${label}${end && ` (${end})`}`)
}

function timeFor({ standing, durationMs, began }: TraceNode, now: number): number | undefined {
  if (standing !== 'open') return durationMs
  return began === undefined ? undefined : Math.max(0, now - began)
}

interface Widths {
  readonly label: number
  readonly amounts: readonly number[]
  readonly columns: number
}

function toLine({ branch, node, label, amounts }: TreeRow, widths: Widths): readonly Piece[] {
  const room = widths.label - widthOf(branch)
  const name = pad(clipText(label, room), room)
  const facts = widths.amounts
    .map((width, i) => (width > 0 ? `  ${pad(amounts[i] ?? '', width, 'start')}` : ''))
    .join('')
  const used = widths.label + widthOf(facts)
  const words = clipText(toFirstWords(node.words), widths.columns - used - 3)
  return [
    dim(branch),
    node.kind === 'member' ? inColourOf(node.label, name) : name,
    facts.trimEnd() && facts,
    dim(words && `  ${words}`),
  ]
}

/** A line about what has just happened inside a task, or none if it says nothing new to a person who watches. */
export function toHappening(
  entry: JsonObject,
  node: TraceNode | undefined,
  columns: number,
): readonly Piece[] | undefined {
  const pieces = describe(entry, node)
  if (!pieces) return undefined
  const indent = '  '.repeat(node?.depth ?? 0)
  return clipPieces([indent, ...pieces.map(toPrintablePiece)], columns - 1)
}

function describe(entry: JsonObject, node: TraceNode | undefined): readonly Piece[] | undefined {
  const type = textAt(entry, 'type')
  if (type === 'retry') {
    const delay = durationText(amountAt(entry, 'delayMs') ?? 0)
    return [...who('↻', entry), dim(`  again in ${delay}`)]
  }
  if (!node) return undefined
  switch (type) {
    case 'delegation': {
      const again = dim(node.tries > 1 ? `  try ${node.tries}` : '')
      return [...who('→', entry), again, dim(spaced(textAt(entry, 'text')))]
    }
    case 'reply':
      return [...who('←', entry), facts(node), dim(spaced(node.words))]
    case 'failure':
      return [...who('✗', entry), dim(spaced(node.outcome ?? '')), facts(node)]
    case 'tool':
      return [dim(`· tool ${node.label}`), facts(node), dim(spaced(node.words))]
    case 'fallback':
    case 'decision':
    case 'skip':
    case 'code-changed':
    case 'tool-approval':
      return [dim(`· ${node.label}`), dim(spaced(node.words))]
    default:
      return undefined
  }
}

function who(sign: string, entry: JsonObject): readonly Piece[] {
  return [dim(`${sign} `), inColourOf(textAt(entry, 'member'))]
}

function spaced(text: string): string {
  const words = toFirstWords(text)
  return words && `  ${words}`
}

function facts({ durationMs, inputTokens, outputTokens, costUsd }: TraceNode): Piece {
  const tokens = tokensText(inputTokens, outputTokens)
  const used = spaced(tokens && `${tokens} tokens`) + spaced(costText(costUsd))
  return dim(spaced(durationText(durationMs)) + used)
}

function toPrintablePiece(piece: Piece): Piece {
  return typeof piece === 'string'
    ? toPrintableLine(piece)
    : { ...piece, text: toPrintableLine(piece.text) }
}
