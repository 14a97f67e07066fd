import type { GuardRule, Guards } from '../agents/guards/guard.ts'
import type { GraphNode } from './graph-api.ts'

/** The names of the guards that a team or a step brings, for its node. */
export function guardsOf({ guards }: { readonly guards?: Guards }): Pick<GraphNode, 'guards'> {
  const [input = [], output = []] = [guards?.input?.map(nameOf), guards?.output?.map(nameOf)]
  if (input.length + output.length === 0) return {}
  return {
    guards: { ...(input.length > 0 && { input }), ...(output.length > 0 && { output }) },
  }
}

/** A guard of the house by its name, others by the member, the file or the function that decides. */
function nameOf(rule: GuardRule): string {
  if (typeof rule === 'string') return rule
  if (typeof rule === 'function') return rule.name || 'a function'
  if ('use' in rule) return rule.use
  if ('member' in rule) return rule.member
  return rule.module.slice(rule.module.lastIndexOf('/') + 1)
}
