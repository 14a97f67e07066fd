import type { ASTNode, BinaryOperator } from '@marcbachmann/cel-js'
import { isFields } from '../../shared/json.ts'
import { nearest } from '../../shared/text.ts'
import {
  binaryOperations,
  type EvaluationRun,
  ExpressionFault,
  ExpressionSite,
  type ExpressionValue,
  elementOf,
  functions,
  inWords,
  memberOf,
  methods,
  negate,
  type Origin,
  shorten,
} from './values.ts'

/** A part of an expression that is ready to compute. */
export type Evaluator = (run: EvaluationRun) => unknown

/**
 * Turns what the parser gave into a function that computes it. CEL's own evaluation has no bounds: a few chained macros
 * double a list until memory ends, and a key named `constructor` in the data stops it. This one counts its work
 * and sees own members only.
 * @throws ExpressionFault for what an expression may not say.
 */
export function toEvaluator(ast: ASTNode, origin: Origin, names: ReadNames): Evaluator {
  return compile(ast, new Compilation(origin, names))
}

function compile(node: ASTNode, compilation: Compilation): Evaluator {
  switch (node.op) {
    case 'value':
      return toLiteral(node, node.args, compilation)
    case 'id':
    case '.':
    case '[]':
      return toAccess(node, compilation)
    case 'call':
      return node.args[0] === 'has'
        ? toHas(node, compilation)
        : toCall(node, node.args[1], compilation)
    case 'rcall':
      return toMethodCall(node, compilation)
    case 'list': {
      const inner = node.args.map((item) => compile(item, compilation))
      return (run) => inner.map((item) => item(run))
    }
    case 'map':
      return toObject(node.args, compilation)
    case '?:':
      return toTernary(node, compilation)
    case '&&':
    case '||':
      return toLogic(node, compilation)
    case '!_': {
      const inner = toCondition(node.args, compilation)
      return (run) => !inner(run)
    }
    case '-_': {
      const site = compilation.siteOf(node)
      const inner = compile(node.args, compilation)
      return (run) => negate(inner(run), site)
    }
    case '.?':
    case '[?]':
      return compilation.siteOf(node).refuse('optional access is not known here: use has(…)')
    default:
      return toOperation(node, compilation)
  }
}

/** An expression that is being turned into functions, at some depth of its macros. */
class Compilation {
  readonly names: ReadNames
  /** The variables of the macros around this place, the outermost first. */
  readonly locals: readonly string[]
  readonly #origin: Origin

  constructor(origin: Origin, names: ReadNames, locals: readonly string[] = []) {
    this.names = names
    this.locals = locals
    this.#origin = origin
  }

  siteOf(node: ASTNode): ExpressionSite {
    return new ExpressionSite(this.#origin, node)
  }

  /** The same within a macro that has a variable. */
  within(local: string): Compilation {
    return new Compilation(this.#origin, this.names, [...this.locals, local])
  }
}

function toLiteral(node: ASTNode, value: unknown, compilation: Compilation): Evaluator {
  const site = compilation.siteOf(node)
  if (typeof value === 'object' && value !== null)
    site.refuse('bytes and unsigned numbers are not known here')
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value)
    site.refuse('the whole number has more than 64 bits')
  return () => value
}

type Identifier = Extract<ASTNode, { readonly op: 'id' }>

type Member = Extract<ASTNode, { readonly op: '.' | '[]' }>

/** A variable, a member of an object or an element of a list. */
function toAccess(node: Identifier | Member, compilation: Compilation): Evaluator {
  const known = toKnown(node, compilation)
  if (known) return known
  if (node.op === 'id') return toVariable(node, compilation)
  const site = compilation.siteOf(node)
  const owner = compile(node.args[0], compilation)
  if (node.op === '.') {
    const name = node.args[1]
    return (run) => memberOf(owner(run), name, site)
  }
  const key = compile(node.args[1], compilation)
  return (run) => elementOf(owner(run), key(run), site)
}

/** What a run always has under a name, null or not: results, their text and data, values of the conversation. */
function toKnown(node: ASTNode, compilation: Compilation): Evaluator | undefined {
  const result = toResult(node, compilation)
  if (result || (node.op !== '.' && node.op !== '[]')) return result
  const [owner] = node.args
  const key = literalKeyOf(node)
  const site = compilation.siteOf(node)
  if (isVariable(owner, 'context', compilation)) {
    if (key === undefined) return site.refuse('values are named: write context.<key>')
    compilation.names.useVariable('context', site)
    compilation.names.useContext(key)
    return (run) => contextValue(run, key)
  }
  const of = toResult(owner, compilation)
  if (!of) return undefined
  if (key === 'text') return (run) => of(run).text
  if (key === 'data') return (run) => of(run).data ?? null
  return site.refuse(`it has text and data${key === undefined ? '' : `, not ${shorten(key, 60)}`}`)
}

type StepResultReader = (run: EvaluationRun) => ExpressionValue

/** The question, the previous answer or the result of a step; undefined for anything else. */
function toResult(node: ASTNode, compilation: Compilation): StepResultReader | undefined {
  const { names } = compilation
  const site = compilation.siteOf(node)
  for (const name of ['question', 'previous'] as const)
    if (isVariable(node, name, compilation)) {
      names.useVariable(name, site)
      return (run) => run.scope[name]
    }
  if (node.op !== '.' && node.op !== '[]') return undefined
  if (!isVariable(node.args[0], 'steps', compilation)) return undefined
  const key = literalKeyOf(node)
  if (key === undefined) return site.refuse('steps are named: write steps.<name>')
  names.useVariable('steps', site)
  names.useStep(key, site)
  return (run) => run.step(key)
}

function isVariable(node: ASTNode, name: string, { locals }: Compilation): boolean {
  return node.op === 'id' && node.args === name && !locals.includes(name)
}

/** The name behind a dot, or the text between brackets. */
function literalKeyOf(node: Member): string | undefined {
  if (node.op === '.') return node.args[1]
  const [, key] = node.args
  return key.op === 'value' && typeof key.args === 'string' ? key.args : undefined
}

function contextValue({ scope: { context = {} } }: EvaluationRun, key: string): unknown {
  return (Object.hasOwn(context, key) ? context[key] : undefined) ?? null
}

function toVariable(node: Identifier, compilation: Compilation): Evaluator {
  const { names, locals } = compilation
  const site = compilation.siteOf(node)
  const local = locals.lastIndexOf(node.args)
  if (local >= 0) return (run) => run.elements[local]
  switch (names.useVariable(node.args, site)) {
    case 'feedback':
      return (run) => run.scope.feedback
    case 'item':
      return (run) => run.scope.item ?? null
    case 'round':
      return (run) => BigInt(run.scope.round ?? 0)
    default:
      return site.refuse(`${node.args} does not stand alone: write ${node.args}.<name>`)
  }
}

type FunctionCall = Extract<ASTNode, { readonly op: 'call' }>

type MethodCall = Extract<ASTNode, { readonly op: 'rcall' }>

/** `size(a)` and `a.size()`. */
function toCall(
  node: FunctionCall | MethodCall,
  args: readonly ASTNode[],
  compilation: Compilation,
): Evaluator {
  const [name] = node.args
  const known = node.op === 'call' ? functions : methods
  const site = compilation.siteOf(node)
  const called = known.get(name)
  if (!called) {
    const names = [...known.keys()].join(', ')
    return site.refuse(`the function ${shorten(name, 60)} is not known here (known: ${names})`)
  }
  const values = args.map((argument) => compile(argument, compilation))
  return (run) =>
    called(
      values.map((value) => value(run)),
      { run, site, name },
    )
}

/** `has(a.b)`: whether there is such a member; of what a run always has, whether it is not null. */
function toHas(node: FunctionCall, compilation: Compilation): Evaluator {
  const site = compilation.siteOf(node)
  const [path] = node.args[1]
  if (path?.op !== '.') return site.refuse('has needs the path of a member: has(a.b)')
  const known = toKnown(path, compilation)
  if (known) return (run) => known(run) !== null
  const member = compile(path, compilation)
  return (run) => {
    try {
      member(run)
      return true
    } catch (thrown) {
      toleratedFault(thrown, run, site)
      return false
    }
  }
}

/** A fault takes as long as some hundred parts of an expression. */
const faultWork = 200

/** A fault for which something else may make up. */
function toleratedFault(
  thrown: unknown,
  run: EvaluationRun,
  site: ExpressionSite,
): ExpressionFault {
  if (!(thrown instanceof ExpressionFault) || thrown.isFinal) throw thrown
  run.charge(faultWork, site)
  return thrown
}

/** What is computed for each element of a list, or each key of an object. */
type Macro = (loop: Loop, bodies: readonly ASTNode[]) => Evaluator

const macros: ReadonlyMap<string, Macro> = new Map<string, Macro>([
  ['all', (loop, [body]) => decide(loop, body, false)],
  ['exists', (loop, [body]) => decide(loop, body, true)],
  [
    'exists_one',
    (loop, [filter]) => {
      const found = collect(loop, filter)
      return (run) => found(run).length === 1
    },
  ],
  ['filter', (loop, [filter]) => collect(loop, filter)],
  [
    'map',
    (loop, [first, second]) =>
      second ? collect(loop, first, second) : collect(loop, undefined, first),
  ],
])

/** Whether some element decides; one that fails does not matter then. */
function decide(loop: Loop, body: ASTNode | undefined, decisive: boolean): Evaluator {
  if (!body) return loop.site.refuse('there is nothing to compute')
  const holds = toCondition(body, loop.compilation)
  return (run) => {
    let fault: ExpressionFault | undefined
    for (const item of loop.items(run)) {
      loop.enter(run, item)
      try {
        if (holds(run) === decisive) return decisive
      } catch (thrown) {
        const tolerated = toleratedFault(thrown, run, loop.site)
        fault ??= tolerated
      }
    }
    if (fault) throw fault
    return !decisive
  }
}

/** A macro's way through its list. */
class Loop {
  readonly site: ExpressionSite
  /** Where the bodies stand. */
  readonly compilation: Compilation
  readonly #items: Evaluator
  readonly #slot: number
  readonly #work: number

  constructor(compilation: Compilation, node: MethodCall, variable: string) {
    const [, receiver, [, ...bodies]] = node.args
    this.site = compilation.siteOf(node)
    this.compilation = compilation.within(variable)
    this.#items = compile(receiver, compilation)
    this.#slot = compilation.locals.length
    // About as many parts as there are to compute for each element.
    this.#work = bodies.reduce((sum, { start, end }) => sum + Math.ceil((end - start) / 4), 1)
  }

  items(run: EvaluationRun): readonly unknown[] {
    const items = this.#items(run)
    if (Array.isArray(items)) return items
    if (!isFields(items)) return this.site.fail(`it needs a list, and this is ${inWords(items)}`)
    return Object.keys(items)
  }

  /** The bodies are computed for this element next. */
  enter(run: EvaluationRun, item: unknown): void {
    run.charge(this.#work, this.site)
    run.elements[this.#slot] = item ?? null
  }
}

/** What must be true or false. */
function toCondition(node: ASTNode, compilation: Compilation): (run: EvaluationRun) => boolean {
  const site = compilation.siteOf(node)
  const inner = compile(node, compilation)
  return (run) => {
    const value = inner(run)
    return typeof value === 'boolean'
      ? value
      : site.fail(`it must be true or false, and is ${inWords(value)}`)
  }
}

/** What is kept of the elements that count: all without a filter; the elements themselves if `keep` is absent. */
function collect(loop: Loop, filter?: ASTNode, keep?: ASTNode): (run: EvaluationRun) => unknown[] {
  const counts = filter && toCondition(filter, loop.compilation)
  const toKept = keep && compile(keep, loop.compilation)
  return (run) => {
    const kept: unknown[] = []
    for (const item of loop.items(run)) {
      loop.enter(run, item)
      if (!counts || counts(run)) kept.push(toKept ? toKept(run) : item)
    }
    return kept
  }
}

/** `a.size()`, and the macros. */
function toMethodCall(node: MethodCall, compilation: Compilation): Evaluator {
  const [name, receiver, args] = node.args
  const macro = macros.get(name)
  if (macro) return toMacro(macro, node, compilation)
  if (name === 'matches')
    compilation.siteOf(node).refuse('matches is not offered: use contains, startsWith or endsWith')
  return toCall(node, [receiver, ...args], compilation)
}

/** How deep macros nest. */
const maxNesting = 2

/** `a.filter(x, x > 1)` and the like. */
function toMacro(macro: Macro, node: MethodCall, compilation: Compilation): Evaluator {
  const [name, , [variable, ...bodies]] = node.args
  const site = compilation.siteOf(node)
  const count = name === 'map' ? [1, 2] : [1]
  if (variable?.op !== 'id' || !count.includes(bodies.length))
    return site.refuse(`${name} needs a name for the element and what to compute: ${name}(x, …)`)
  if (isTaken(variable.args)) site.refuse(`${variable.args} is the name of something else`)
  if (compilation.locals.length >= maxNesting)
    site.refuse(`${name} nests too deep: at most ${maxNesting} of all, exists, filter and map`)
  return macro(new Loop(compilation, node, variable.args), bodies)
}

/**
 * Keys stand there as texts: the checker of types would spell out the types of keys and values for each other, which
 * doubles them with every macro of a chain.
 */
function toObject(
  entries: readonly (readonly [ASTNode, ASTNode])[],
  compilation: Compilation,
): Evaluator {
  const inner = entries.map(([key, value]) => {
    if (key.op !== 'value' || typeof key.args !== 'string')
      return compilation.siteOf(key).refuse('the keys of an object are texts in quotes')
    return [key.args, compile(value, compilation)] as const
  })
  return (run) => Object.fromEntries(inner.map(([name, value]) => [name, value(run)]))
}

/** `a ? b : c`. */
function toTernary(
  node: Extract<ASTNode, { readonly op: '?:' }>,
  compilation: Compilation,
): Evaluator {
  const [condition, whenTrue, whenFalse] = node.args
  const holds = toCondition(condition, compilation)
  const yes = compile(whenTrue, compilation)
  const no = compile(whenFalse, compilation)
  return (run) => (holds(run) ? yes(run) : no(run))
}

/**
 * `a && b` and `a || b`. As CEL has it, a side that fails does not matter where the other one decides:
 * `previous.data.x > 1 || true` holds without data.
 */
function toLogic(
  node: Extract<ASTNode, { readonly op: '&&' | '||' }>,
  compilation: Compilation,
): Evaluator {
  const decisive = node.op === '||'
  const left = toCondition(node.args[0], compilation)
  const right = toCondition(node.args[1], compilation)
  const site = compilation.siteOf(node)
  return (run) => {
    let fault: ExpressionFault | undefined
    try {
      if (left(run) === decisive) return decisive
    } catch (thrown) {
      fault = toleratedFault(thrown, run, site)
    }
    if (right(run) === decisive) return decisive
    if (fault) throw fault
    return !decisive
  }
}

type Operation = Extract<ASTNode, { readonly op: BinaryOperator }>

function toOperation(node: Operation, compilation: Compilation): Evaluator {
  const site = compilation.siteOf(node)
  const operation = binaryOperations[node.op]
  const left = compile(node.args[0], compilation)
  const right = compile(node.args[1], compilation)
  return (run) => operation(left(run), right(run), { run, site })
}

/** What an expression looks at. */
export interface Reads {
  /** The names of the steps that it reads results of. */
  readonly steps: readonly string[]
  /** The values of the conversation that it reads; what it gives may differ between two evaluations where there are any. */
  readonly contextKeys: readonly string[]
  /** Whether it reads a variable. */
  uses(name: ExpressionVariable): boolean
}

/** What an expression may have to give. */
export type ExpressionResult = 'boolean' | 'list'

/** What may be named where an expression stands. */
export interface ExpressionOptions {
  /** The steps that may be named here. */
  readonly steps: readonly string[]
  /** Whether this is within a `map`. */
  readonly item?: boolean
  /** Whether this is within a loop. */
  readonly round?: boolean
  /** What it has to give; anything if absent. */
  readonly result?: ExpressionResult
}

const variables = ['question', 'previous', 'steps', 'feedback', 'context', 'item', 'round'] as const

/** The variables of expressions. */
type ExpressionVariable = (typeof variables)[number]

/** Collects what an expression reads, and refuses what it may not name. */
export class ReadNames implements Reads {
  readonly #options: ExpressionOptions
  readonly #used = new Set<ExpressionVariable>()
  readonly #steps = new Set<string>()
  readonly #contextKeys = new Set<string>()

  constructor(options: ExpressionOptions) {
    this.#options = options
  }

  get steps(): readonly string[] {
    return [...this.#steps]
  }

  get contextKeys(): readonly string[] {
    return [...this.#contextKeys]
  }

  uses(name: ExpressionVariable): boolean {
    return this.#used.has(name)
  }

  /** A variable that is read. */
  useVariable(name: string, site: ExpressionSite): ExpressionVariable {
    const variable = variables.find((one) => one === name)
    if (!variable)
      return site.refuse(`${shorten(name, 60)} is not known here${meant(name, variables)}`)
    if (variable === 'item' && !this.#options.item)
      site.refuse('item is not known here: only the steps of a map have an item')
    if (variable === 'round' && !this.#options.round)
      site.refuse('round is not known here: only the steps of a loop have a round')
    this.#used.add(variable)
    return variable
  }

  /** A step of which the result is read. */
  useStep(name: string, site: ExpressionSite): void {
    const { steps } = this.#options
    if (!steps.includes(name))
      site.refuse(`there is no step ${shorten(name, 60)} before this one${meant(name, steps)}`)
    this.#steps.add(name)
  }

  /** A value of the conversation that is read. */
  useContext(key: string): void {
    this.#contextKeys.add(key)
  }
}

function meant(name: string, known: readonly string[]): string {
  const near = nearest(name.slice(0, 100), known)
  if (near) return ` (did you mean ${near}?)`
  return known.length > 0 ? ` (known: ${known.slice(0, 20).join(', ')})` : ''
}

/** A macro's variable may have the name of none of these: it would hide what others read. */
function isTaken(name: string): boolean {
  return name !== 'item' && name !== 'round' && variables.some((one) => one === name)
}
