import type { Fields } from '../../shared/json.ts'
import type { GuardAction } from './guard.ts'

/** Refuses a setting of a guard, or the guard as a whole where none is named. */
export type RefuseSetting = (key: string | undefined, reason: string, hint?: string) => never

/** What a guard does with what it finds. */
export function readAction(
  { action }: Fields,
  usual: GuardAction,
  refuse: RefuseSetting,
): GuardAction {
  if (action === undefined) return usual
  if (action === 'block' || action === 'replace') return action
  return refuse('action', 'must be block or replace')
}
