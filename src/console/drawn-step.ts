import type { Rule, Step } from '../team/step-config.ts'
import type { GraphNode } from './api.ts'

/** A node for a step: of a member, whose name and kind the team knows, or a step that is no member. */
export type StepNode = Omit<GraphNode, 'name' | 'kind'> & Partial<Pick<GraphNode, 'name' | 'kind'>>

/** A rule in words; a function has none. */
export function ruleWords(rule: Rule<unknown>): string {
  return typeof rule === 'string' ? rule : 'a function decides'
}

/** Under which condition a step runs, in words; undefined where it always does. */
export function conditionOf({ when, condition }: Step): string | undefined {
  if (when !== undefined) return `if ${ruleWords(when)}`
  return condition ? `if “${condition}”` : undefined
}
