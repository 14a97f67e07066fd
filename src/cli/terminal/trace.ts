import {
  type AgentCard,
  type Json,
  type JsonObject,
  type Task,
  traceExtension,
} from '../../index.ts'
import { toPrintableLine } from '../../shared/text.ts'
import {
  clipPieces,
  clipText,
  costText,
  dim,
  durationText,
  inColourOf,
  type Piece,
  pad,
  toFirstWords,
  tokensText,
  widthOf,
} from './text.ts'

/** One thing that happened. */
export interface TraceNode {
  readonly kind: 'member' | 'model' | 'tool' | 'note'
  /** The member's id, the model's or the tool's name, or a few words. */
  readonly label: string
  readonly depth: number
  readonly children: readonly TraceNode[]
  /** What was asked, said or given as arguments. */
  readonly words: string
  readonly standing: 'open' | 'done' | 'failed'
  /** The state it ended in, or why it failed, where that is worth a word. */
  readonly outcome?: string
  /** How often it was tried. */
  readonly tries: number
  readonly began?: number
  readonly durationMs?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly costUsd?: number
}

/** Whether an agent shows what happens inside its tasks to callers that ask for it. */
export function declaresTrace({ capabilities }: AgentCard): boolean {
  return capabilities.extensions?.some(({ uri }) => uri === traceExtension) ?? false
}

/** The trace in a task's metadata; empty where there is none. */
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

/** What all of it took so far. */
interface TraceTotal {
  readonly began?: number
  readonly durationMs?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly costUsd?: number
}

type Take = (tree: TraceTree, entry: JsonObject) => TraceNode | undefined

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
  'code-changed': (tree, entry) => tree.note(entry, `code of ${textAt(entry, 'agent')} changed`),
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

/** The text of an entry under a key; empty where there is none. */
export function textAt(entry: JsonObject, key: string): string {
  const value = entry[key]
  return typeof value === 'string' ? value : ''
}

/** The ids in a list; nothing else that stands there. */
function idsAt(entry: JsonObject, key: string): readonly string[] {
  const value = entry[key]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

const mostNodes = 2_000
const deepest = 24

/**
 * What happened inside a task, as a tree: members that were called, and below each what it did – rounds of its model,
 * tools, members that it called in turn. Made of the entries of the trace extension, which a stranger may have written:
 * what does not fit is left out, and there are bounds.
 */
export class TraceTree {
  readonly nodes: Growing[] = []
  /** Entries that found no place any more. */
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

  /** Takes in an entry; gives back the node that it made or changed. */
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

/** When an entry was written, in milliseconds. */
function timeOf(entry: JsonObject): number | undefined {
  const time = Date.parse(textAt(entry, 'time'))
  return Number.isNaN(time) ? undefined : time
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

/** A number of an entry that can be shown as an amount, as a member of the given name. */
function amountAt<K extends string>(entry: JsonObject, key: K): { readonly [name in K]?: number } {
  const value = entry[key]
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return {}
  // An object with one computed key has that key; the compiler only knows that it has some.
  return { [key]: value } as { readonly [name in K]?: number }
}

/** The way to what a call's member does itself: that of its team, then the step and the member. */
function callKey(entry: JsonObject): string {
  const [path, step, member] = ['path', 'step', 'member'].map((key) => textAt(entry, key))
  return `${path ? `${path}/` : ''}${step}:${member}`
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
  readonly time: string
  readonly tokens: string
  readonly cost: string
  readonly words: string
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
  const widths = {
    label,
    time: widest((row) => row.time),
    tokens: widest((row) => row.tokens),
    cost: widest((row) => row.cost),
    columns: view.columns,
  }
  const lines = rows.map((row) => toLine(row, widths))
  if (leftOut === 0) return lines
  return [...lines, [{ text: `… and ${leftOut} more entries`, style: { dim: true } }]]
}

function toRows(nodes: readonly TraceNode[], before: string, view: TreeView): readonly TreeRow[] {
  return nodes.flatMap((node, i) => {
    const isLast = i === nodes.length - 1
    const { inputTokens: input, outputTokens: output } = node
    const row: TreeRow = {
      branch: `${before}${isLast ? '└─ ' : '├─ '}`,
      node,
      label: labelOf(node),
      time: durationText(timeFor(node, view.now)),
      tokens: tokensText(input, output),
      cost: costText(node.costUsd),
      words: toFirstWords(node.words),
    }
    return [row, ...toRows(node.children, `${before}${isLast ? '   ' : '│  '}`, view)]
  })
}

const signs = { member: '', model: 'model ', tool: 'tool ', note: '' } as const

function labelOf({ kind, label, standing, outcome, tries }: TraceNode): string {
  const sign = standing === 'open' ? '… ' : standing === 'failed' ? '✗ ' : ''
  const again = tries > 1 ? `, try ${tries}` : ''
  const end =
    outcome && outcome !== 'failed' ? ` (${outcome}${again})` : again && ` (${again.slice(2)})`
  return toPrintableLine(`${sign}${signs[kind]}${label}${end}`)
}

function timeFor({ standing, durationMs, began }: TraceNode, now: number): number | undefined {
  if (standing !== 'open') return durationMs
  return began === undefined ? undefined : Math.max(0, now - began)
}

interface Widths {
  readonly label: number
  readonly time: number
  readonly tokens: number
  readonly cost: number
  readonly columns: number
}

function toLine(row: TreeRow, widths: Widths): readonly Piece[] {
  const { branch, node } = row
  const label = pad(
    clipText(row.label, widths.label - widthOf(branch)),
    widths.label - widthOf(branch),
  )
  const amounts = [
    ...(widths.time > 0 ? [pad(row.time, widths.time, 'start')] : []),
    ...(widths.tokens > 0 ? [pad(row.tokens, widths.tokens, 'start')] : []),
    ...(widths.cost > 0 ? [pad(row.cost, widths.cost, 'start')] : []),
  ].map((one) => `  ${one}`)
  const used = widths.label + amounts.reduce((sum, one) => sum + widthOf(one), 0)
  const words = clipText(row.words, widths.columns - used - 3)
  return [
    { text: branch, style: { dim: true } },
    node.kind === 'member' ? inColourOf(node.label, label) : label,
    amounts.join('').trimEnd() === '' ? '' : amounts.join(''),
    { text: words && `  ${words}`, style: { dim: true } },
  ]
}

type Describe = (entry: JsonObject, node: TraceNode | undefined) => readonly Piece[] | undefined

const lines: Readonly<Record<string, Describe | undefined>> = {
  delegation: (entry, node) =>
    node && [...who('→', entry), again(node), dim(spaced(textAt(entry, 'text')))],
  reply: (entry, node) => node && [...who('←', entry), facts(node), dim(spaced(node.words))],
  failure: (entry, node) =>
    node && [...who('✗', entry), dim(spaced(node.outcome ?? '')), facts(node)],
  retry: (entry) => [
    ...who('↻', entry),
    dim(`  again in ${durationText(amountAt(entry, 'delayMs').delayMs ?? 0)}`),
  ],
  fallback: (_, node) => node && noted(node),
  decision: (_, node) => node && noted(node),
  skip: (_, node) => node && noted(node),
  'code-changed': (_, node) => node && noted(node),
  'tool-approval': (_, node) => node && noted(node),
  tool: (_, node) => node && [dim(`· tool ${node.label}`), facts(node), dim(spaced(node.words))],
}

function who(sign: string, entry: JsonObject): readonly Piece[] {
  const member = textAt(entry, 'member')
  return [dim(`${sign} `), inColourOf(member)]
}

function again({ tries }: TraceNode): Piece {
  return dim(tries > 1 ? `  try ${tries}` : '')
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

function noted({ label, words }: TraceNode): readonly Piece[] {
  return [dim(`· ${label}`), dim(spaced(words))]
}

/** A line about what has just happened inside a task, or none where it says nothing new to a person who watches. */
export function toHappening(
  entry: JsonObject,
  node: TraceNode | undefined,
  columns: number,
): readonly Piece[] | undefined {
  const type = textAt(entry, 'type')
  const describe = Object.hasOwn(lines, type) ? lines[type] : undefined
  const pieces = describe?.(entry, node)
  if (!pieces) return undefined
  const indent = '  '.repeat(node?.depth ?? 0)
  return clipPieces([indent, ...pieces.map(toHappeningLine)], columns - 1)
}

function toHappeningLine(piece: Piece): Piece {
  return typeof piece === 'string'
    ? toPrintableLine(piece)
    : { ...piece, text: toPrintableLine(piece.text) }
}
