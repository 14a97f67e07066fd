import type { ContextValues } from '../../agents/agent.ts'
import { A2AError } from '../../protocol/errors.ts'
import { parseMessage } from '../../protocol/schema.ts'
import type { Json, Part } from '../../protocol/types.ts'
import type { Rule, StepResult, StepScope } from '../config.ts'
import type { Refuse, TeamPath } from '../errors.ts'
import { compileExpression, compileTemplate } from '../expressions/compile.ts'
import type { Reads } from '../expressions/evaluate.ts'
import { ExpressionFault, type ExpressionScope } from '../expressions/values.ts'
import { replyParts, toStepResult } from '../reply.ts'
import { decide } from '../run.ts'
import type { Results, StepPlace } from './steps.ts'

/** Where a rule stands in the workflow. */
export interface RuleSite {
  /** The name of its step. */
  readonly step: string | undefined
  /** Unique among the rules of the step. */
  readonly key: string
  readonly path: TeamPath
  /** What may be named there. */
  readonly names: KnownNames
  readonly refuse: Refuse
}

/** What may be named at a place of a workflow. */
export interface KnownNames {
  readonly steps: readonly string[]
  readonly item: boolean
  readonly round: boolean
}

/** A rule that was read: what it gives at a place. */
export type ReadyRule<T> = (place: StepPlace) => T | Promise<T>

/** Reads a rule that is true or false. */
export function readCondition(rule: Rule<boolean>, site: RuleSite): ReadyRule<boolean> {
  if (typeof rule === 'function') return deciding(site, async (scope) => Boolean(await rule(scope)))
  const expression = compiled(site, (names) =>
    compileExpression(rule, { ...names, result: 'boolean' }),
  )
  return evaluating(site, expression, (scope) => expression.evaluate(scope) === true)
}

/** What a program decides is decided once: a run that is repeated finds it again. */
function deciding<T>(
  site: RuleSite,
  make: (scope: PlaceScope<ContextValues>, place: StepPlace) => Promise<T>,
): ReadyRule<T> {
  return (place) =>
    decide(place.run, `${place.name}?${site.key}`, async (values) => {
      try {
        return await make(new PlaceScope(place, site.names.steps, values), place)
      } catch (cause) {
        if (cause instanceof A2AError) throw cause
        throw new Error(`${nameOf(site, place)} has thrown`, { cause })
      }
    })
}

/** What a rule sees at a place. A class with accessors: most rules look at one or two of these. */
class PlaceScope<Context> implements Omit<StepScope, 'context'> {
  readonly #place: StepPlace
  readonly #names: readonly string[]
  #feedbackIsRead = false
  readonly context: Context

  /** Of the steps, it has those of these names. */
  constructor(place: StepPlace, names: readonly string[], context: Context) {
    this.#place = place
    this.#names = names
    this.context = context
  }

  get question(): StepResult {
    return toStepResult(this.#place.run.memory.message.parts)
  }
  get previous(): StepResult {
    return toStepResult(this.#place.input.parts)
  }
  get steps(): Readonly<Record<string, StepResult>> {
    const steps: Record<string, StepResult> = Object.create(null)
    const { results } = this.#place.known
    for (const name of this.#names) steps[name] = resultOf(results, name)
    return steps
  }
  get feedback(): string {
    this.#feedbackIsRead = true
    return this.#place.known.feedback
  }
  get item(): Json {
    return this.#place.known.item ?? null
  }
  get round(): number {
    return this.#place.known.round ?? 0
  }

  /** Whether the rule has looked at the feedback. */
  get feedbackIsRead(): boolean {
    return this.#feedbackIsRead
  }
}

const nothing: StepResult = { text: '', data: undefined }

function resultOf(results: Results, name: string): StepResult {
  const reply = results.get(name)
  return reply ? toStepResult(replyParts(reply)) : nothing
}

function nameOf({ step, path }: RuleSite, { name }: StepPlace): string {
  return `Step ${step === undefined ? name : `"${step}"`}, ${path.at(-1)}`
}

/** Reads an expression or template; what is wrong with it is wrong with the team. */
function compiled<T>({ path, names, refuse }: RuleSite, read: (names: KnownNames) => T): T {
  try {
    return read(names)
  } catch (thrown) {
    if (!(thrown instanceof ExpressionFault)) throw thrown
    const { message, position: offset } = thrown
    return refuse('invalidExpression', `${path.at(-1)} cannot be read: ${message}`, {
      path,
      offset,
    })
  }
}

/** An expression gives the same whenever it is evaluated, unless it reads values that may change meanwhile. */
function evaluating<T>(
  site: RuleSite,
  { steps, contextKeys }: Reads,
  evaluate: (scope: ExpressionScope, place: StepPlace) => T,
): ReadyRule<T> {
  const attempt = (place: StepPlace, context: ExpressionScope['context'] = {}): T => {
    try {
      return evaluate(new PlaceScope(place, steps, context), place)
    } catch (thrown) {
      if (!(thrown instanceof ExpressionFault)) throw thrown
      return failAt(site, place, thrown.message)
    }
  }
  if (contextKeys.length === 0) return (place) => attempt(place)
  return (place) =>
    decide(place.run, `${place.name}?${site.key}`, async () => {
      const { context } = place.run.turn
      const values = contextKeys.map(async (key) => [key, await context.get(key)] as const)
      return attempt(place, Object.fromEntries(await Promise.all(values)))
    })
}

function failAt(site: RuleSite, place: StepPlace, reason: string): never {
  throw new A2AError('processingError', `${nameOf(site, place)}: ${reason}`)
}

/** Reads a rule that gives a list. */
export function readList(rule: Rule<readonly Json[]>, site: RuleSite): ReadyRule<readonly Json[]> {
  const mustBeList = (value: unknown, place: StepPlace): readonly Json[] =>
    Array.isArray(value) ? value : failAt(site, place, 'it must give a list')
  if (typeof rule === 'function')
    return deciding(site, async (scope, place) => {
      const list = mustBeList(await rule(scope), place)
      return asWritten(list) ?? failAt(site, place, 'it must give a list of JSON values')
    })
  const expression = compiled(site, (names) =>
    compileExpression(rule, { ...names, result: 'list' }),
  )
  return evaluating(site, expression, (scope, place) =>
    mustBeList(expression.evaluate(scope), place),
  )
}

/** A list as a repeated run finds it: dates are texts by then, and what is missing is null. */
function asWritten(list: readonly Json[]): readonly Json[] | undefined {
  try {
    return JSON.parse(JSON.stringify(list))
  } catch {
    return undefined
  }
}

/** Reads a rule that gives words or parts. Feedback that no member has had, and that it does not look at, is put after them. */
export function readContent(
  rule: Rule<string | readonly Part[]>,
  site: RuleSite,
): ReadyRule<readonly Part[]> {
  if (typeof rule === 'function')
    return deciding(site, async (scope, place) => {
      const parts = toParts(await rule(scope), site, place)
      return scope.feedbackIsRead ? parts : withFeedback(parts, place)
    })
  const template = compiled(site, (names) => compileTemplate(rule, names))
  const isRead = template.uses('feedback')
  return evaluating(site, template, (scope, place) => {
    const parts = [{ text: template.render(scope) }]
    return isRead ? parts : withFeedback(parts, place)
  })
}

function toParts(content: unknown, site: RuleSite, place: StepPlace): readonly Part[] {
  if (typeof content === 'string') return [{ text: content }]
  try {
    return parseMessage({ messageId: site.key, role: 'ROLE_USER', parts: content }).parts
  } catch (thrown) {
    const violation = thrown instanceof A2AError ? thrown.details.violations?.[0] : undefined
    if (!violation) throw thrown
    const { field, description } = violation
    return failAt(site, place, `it must give a text or parts (${field}: ${description})`)
  }
}

/** Parts with the feedback after them that no member has had. */
export function withFeedback(parts: readonly Part[], { known }: StepPlace): readonly Part[] {
  return known.untold === '' ? parts : [...parts, { text: `\n\nFeedback: ${known.untold}` }]
}
