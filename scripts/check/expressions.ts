/**
 * Regular expressions whose time grows with the square of the text.
 *
 * `/x+$/` tries every `x` as a beginning and runs to the end of its run each time: a run of n that is not at the end
 * costs n². The same happens behind `^` where two repetitions of the same characters stand side by side, as in
 * `/^(.+?)\s*$/`, and worse where a repetition is repeated and its parts can be told apart in more than one way:
 * `/(a+)+$/`, `/(?:\w|\d)*!/`. A mandatory character outside the repeated ones takes the danger away: in `/;[^;]*$/` each run has
 * one beginning. An expression that only sees short text says so: `// bounded: why`, on its line or the one above.
 */
import { type ESTree, Visitor } from 'rolldown/utils'
import { lineAt, type Source, type Tree } from './tree.ts'

/** Expressions that a long text can stop the process with. */
export function checkExpressions(tree: Tree): string[] {
  return [...tree.values()].flatMap((source) =>
    expressionsOf(source)
      .filter((one) => !one.bounded && isQuadratic(one))
      .map(
        ({ pattern, line }) =>
          `${source.path}:${line}: /${pattern}/ takes time that grows with the square of the text; use trimEnd or say "// bounded: why"`,
      ),
  )
}

/** A regular expression literal, or `RegExp` of one string. */
interface Expression {
  readonly pattern: string
  readonly flags: string
  readonly line: number
  /** Somebody says why its text is short. */
  readonly bounded: boolean
}

function expressionsOf({ text, program }: Source): Expression[] {
  const lines = text.split('\n')
  const found: Expression[] = []
  const add = (start: number, pattern: string, flags: string): void => {
    const line = lineAt(text, start)
    const said = [lines[line - 2], lines[line - 1]].some((one) => one?.includes('// bounded: '))
    found.push({ pattern, flags, line, bounded: said })
  }
  const construct = ({ callee, arguments: [pattern, flags], start }: Construction): void => {
    if (callee.type !== 'Identifier' || callee.name !== 'RegExp') return
    if (pattern?.type !== 'Literal' || typeof pattern.value !== 'string') return
    add(start, pattern.value, flags?.type === 'Literal' ? String(flags.value) : '')
  }
  new Visitor({
    Literal: (node) => {
      if ('regex' in node) add(node.start, node.regex.pattern, node.regex.flags)
    },
    NewExpression: construct,
    CallExpression: construct,
  }).visit(program)
  return found
}

type Construction = ESTree.NewExpression | ESTree.CallExpression

/** One step of a sequence: an atom and how often it may stand. */
interface Step {
  /** The characters it can begin with, as a bit per sampled character. */
  readonly first: CharacterSet
  readonly optional: boolean
  readonly endless: boolean
  readonly anchor: '^' | '$' | undefined
  /** What is repeated, by its alternatives, where that is a group. */
  readonly loop?: readonly (readonly Step[])[]
}

type CharacterSet = ReadonlySet<string>

/** Whether the time of an expression can grow with the square of the text. */
export function isQuadratic({ pattern, flags }: Pick<Expression, 'pattern' | 'flags'>): boolean {
  return alternativesOf(pattern, flags).some((steps) =>
    steps.some((step, at) => {
      const canFail = steps.slice(at + 1).some((one) => one.anchor === '$' || !one.optional)
      if (!step.endless || !canFail) return false
      return hasManyBeginnings(steps.slice(0, at), step, flags) || hasManyReadings(step.loop)
    }),
  )
}

/** Whether a repeated group can take the same characters in more than one way. */
function hasManyReadings(loop: Step['loop'] = []): boolean {
  const [heads, lone] = [loop.map(firstOf), loop.filter(({ length }) => length === 1).map(firstOf)]
  if (lone.some((one, at) => lone.slice(at + 1).some((other) => overlap(one, other)))) return true
  return loop.some((steps) =>
    steps.some((step, at) => {
      if (hasManyReadings(step.loop)) return true
      return step.endless && canGoOn(step, steps.slice(at + 1), heads)
    }),
  )
}

/** Whether what a repetition takes may as well be taken by what follows it, the group's next round included. */
function canGoOn(run: Step, after: readonly Step[], heads: readonly CharacterSet[]): boolean {
  for (const step of after) {
    if (overlap(step.first, run.first)) return true
    if (!step.optional) return false
  }
  return heads.some((head) => overlap(head, run.first))
}

/** Whether the run of a repetition can be entered at each of its characters. */
function hasManyBeginnings(before: readonly Step[], run: Step, flags: string): boolean {
  const anchored = before[0]?.anchor === '^' || flags.includes('y')
  for (const step of before.toReversed()) {
    if (step.anchor) continue
    const disjoint = !overlap(step.first, run.first)
    if (step.endless && !disjoint) return true
    if (!step.optional && (anchored || disjoint)) return false
  }
  return !anchored
}

/** The alternatives of a pattern as flat sequences; a group that stands once is part of its sequence. */
function alternativesOf(pattern: string, flags: string): Step[][] {
  return splitAlternatives(pattern).flatMap((one) => sequencesOf(one, flags))
}

const atom = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u.{4}|x..|k<[^>]*>|.)|\[(?:\\.|[^\]\\])*\]|./suy

function sequencesOf(text: string, flags: string): Step[][] {
  let sequences: Step[][] = [[]]
  for (let at = 0; at < text.length; ) {
    const group = text[at] === '(' ? closing(text, at) : undefined
    atom.lastIndex = at
    const body = group ? text.slice(at, group) : (atom.exec(text)?.[0] ?? '')
    const times = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(text.slice(at + body.length))?.[0] ?? ''
    at += body.length + times.length
    const inner = group ? withoutHead(body.slice(1, -1)) : undefined
    if (inner?.zeroWidth) continue
    const steps =
      inner && times === ''
        ? alternativesOf(inner.text, flags)
        : [[inner ? groupStep(inner.text, times, flags) : atomStep(body, times, flags)]]
    sequences = sequences.flatMap((before) => steps.map((more) => [...before, ...more]))
  }
  return sequences
}

function atomStep(body: string, times: string, flags: string): Step {
  const anchor = body === '^' || body === '$' ? body : undefined
  const first =
    anchor || body === '\\b' || body === '\\B' ? new Set<string>() : matching(body, flags)
  const width = anchor || body === '\\b' || body === '\\B'
  return { first, anchor, optional: width ? true : mayBeAbsent(times), endless: isEndless(times) }
}

function groupStep(text: string, times: string, flags: string): Step {
  const loop = alternativesOf(text, flags)
  const first = new Set(loop.flatMap((steps) => [...firstOf(steps)]))
  return { first, anchor: undefined, optional: mayBeAbsent(times), endless: isEndless(times), loop }
}

/** The characters that a sequence can begin with. */
function firstOf(steps: readonly Step[]): CharacterSet {
  const mandatory = steps.findIndex((step) => !step.optional)
  const begin = mandatory < 0 ? steps : steps.slice(0, mandatory + 1)
  return new Set(begin.flatMap((step) => [...step.first]))
}

function mayBeAbsent(times: string): boolean {
  return /^(?:[*?]|\{0)/.test(times)
}

function isEndless(times: string): boolean {
  return /^(?:[*+]|\{\d+,\})/.test(times)
}

/** The text of a group behind `(?:`, `(?<name>` and the like; a look-around takes no characters. */
function withoutHead(text: string): { readonly text: string; readonly zeroWidth: boolean } {
  const head = /^\?(?:<?[=!]|<[^>]*>|[a-z-]*:)/.exec(text)?.[0] ?? ''
  return { text: text.slice(head.length), zeroWidth: /[=!]$/.test(head) }
}

function splitAlternatives(text: string): string[] {
  const parts: string[] = []
  let begin = 0
  for (let at = 0; at < text.length; ) {
    if (text[at] === '|') {
      parts.push(text.slice(begin, at))
      begin = ++at
    } else at = text[at] === '(' ? closing(text, at) : skipAtom(text, at)
  }
  return [...parts, text.slice(begin)]
}

/** The offset behind the group that opens here. */
function closing(text: string, open: number): number {
  let at = open + 1
  while (at < text.length && text[at] !== ')')
    at = text[at] === '(' ? closing(text, at) : skipAtom(text, at)
  return at + 1
}

function skipAtom(text: string, at: number): number {
  atom.lastIndex = at
  return at + (atom.exec(text)?.[0].length ?? 1)
}

/** Characters that stand for all: ASCII, and a few beyond it. */
const samples = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  'é',
  '\u2028',
  '中',
]

function matching(body: string, flags: string): CharacterSet {
  // A reference to a group can begin with anything.
  if (/^\\(?:k<|[1-9])/.test(body)) return new Set(samples)
  const one = new RegExp(`^${body}$`, flags.replace(/[gym]/g, ''))
  return new Set(samples.filter((character) => one.test(character)))
}

function overlap(a: CharacterSet, b: CharacterSet): boolean {
  return [...a].some((character) => b.has(character))
}
