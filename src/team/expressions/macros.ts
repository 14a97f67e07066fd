import type { ASTNode } from '@marcbachmann/cel-js'
import { isFields } from '../../shared/json.ts'
import type { Compilation } from './compilation.ts'
import type { ExpressionFault, ExpressionSite } from './fault.ts'
import { toCondition, toleratedFault } from './logic.ts'
import { isTaken } from './names.ts'
import type { EvaluationRun, Evaluator } from './run.ts'
import { inWords } from './values.ts'

/** What is computed for each element of a list, or each key of an object. */
type Macro = (loop: Loop, bodies: readonly ASTNode[]) => Evaluator

const table: ReadonlyMap<string, Macro> = new Map<string, Macro>([
  ['all', (loop, [body]) => decide(loop, body, false)],
  ['exists', (loop, [body]) => decide(loop, body, true)],
  ['exists_one', (loop, [filter]) => isOne(collect(loop, { filter }))],
  ['filter', (loop, [filter]) => collect(loop, { filter })],
  [
    'map',
    (loop, [first, second]) =>
      collect(loop, second ? { filter: first, keep: second } : { keep: first }),
  ],
])

/** How deep macros nest. */
const maxNesting = 2

/** Whether a name behind a dot is that of a macro. */
export function isMacro(name: string): boolean {
  return table.has(name)
}

/** `a.filter(x, x > 1)` and the like. */
export function toMacro(
  node: Extract<ASTNode, { readonly op: 'rcall' }>,
  compilation: Compilation,
): Evaluator {
  const [name, receiver, [variable, ...bodies]] = node.args
  const site = compilation.siteOf(node)
  const count = name === 'map' ? [1, 2] : [1]
  if (variable?.op !== 'id' || !count.includes(bodies.length))
    return site.refuse(`${name} needs a name for the element and what to compute: ${name}(x, …)`)
  if (isTaken(variable.args)) site.refuse(`${variable.args} is the name of something else`)
  if (compilation.locals.length >= maxNesting)
    site.refuse(`${name} nests too deep: at most ${maxNesting} of all, exists, filter and map`)
  const macro = table.get(name)
  if (!macro) return site.refuse(`${name} is not known here`)
  return macro(new Loop(compilation, { site, receiver, variable: variable.args, bodies }), bodies)
}

interface LoopParts {
  readonly site: ExpressionSite
  readonly receiver: ASTNode
  readonly variable: string
  readonly bodies: readonly ASTNode[]
}

/** A macro's way through its list. */
class Loop {
  readonly site: ExpressionSite
  /** Where the bodies stand. */
  readonly compilation: Compilation
  readonly #items: Evaluator
  readonly #slot: number
  readonly #work: number

  constructor(compilation: Compilation, { site, receiver, variable, bodies }: LoopParts) {
    this.site = site
    this.compilation = compilation.within(variable)
    this.#items = compilation.toEvaluator(receiver)
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

interface Collecting {
  /** Which elements count; all if absent. */
  readonly filter?: ASTNode | undefined
  /** What is kept of them; the elements themselves if absent. */
  readonly keep?: ASTNode | undefined
}

/** What is kept of the elements that count. */
function collect(loop: Loop, { filter, keep }: Collecting): (run: EvaluationRun) => unknown[] {
  const counts = filter && toCondition(filter, loop.compilation)
  const toKept = keep && loop.compilation.toEvaluator(keep)
  return (run) => {
    const kept: unknown[] = []
    for (const item of loop.items(run)) {
      loop.enter(run, item)
      if (!counts || counts(run)) kept.push(toKept ? toKept(run) : item)
    }
    return kept
  }
}

function isOne(found: (run: EvaluationRun) => unknown[]): Evaluator {
  return (run) => found(run).length === 1
}
