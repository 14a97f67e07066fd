import { isFields } from '../shared/json.ts'
import type { GraphGuards, GraphNode } from './graph-api.ts'

/** The names of the guards that a team or a step brings, for its node. */
export function guardsOf(owner: object): Pick<GraphNode, 'guards'> {
  const given = 'guards' in owner ? owner.guards : undefined
  if (!isFields(given)) return {}
  const [input, output] = [namesOf(given.input), namesOf(given.output)]
  const guards: GraphGuards = {
    ...(input.length > 0 && { input }),
    ...(output.length > 0 && { output }),
  }
  return Object.keys(guards).length > 0 ? { guards } : {}
}

function namesOf(rules: unknown): readonly string[] {
  return Array.isArray(rules) ? rules.map(nameOf) : []
}

/** A guard of the house by its name, others by the member, the file or the function that decides. */
function nameOf(rule: unknown): string {
  if (typeof rule === 'string') return rule
  if (typeof rule === 'function') return rule.name || 'a function'
  if (!isFields(rule)) return 'a guard'
  const { use, member, module } = rule
  if (typeof module === 'string') return module.slice(module.lastIndexOf('/') + 1)
  return typeof use === 'string' ? use : typeof member === 'string' ? member : 'a guard'
}
