import type { Fields } from '../../shared/json.ts'
import type { GuardAction } from './guard.ts'

/** More of a setting that is refused. */
interface RefusalDetail {
  /** What was probably meant, or what there is. */
  readonly hint?: string | undefined
  /** Where within the setting it is, by the keys. */
  readonly path?: readonly (string | number)[]
  /** The character at which it begins, where a text stands there. */
  readonly offset?: number | undefined
}

/** Refuses a setting of a guard, or the guard as a whole where none is named. */
export type RefuseSetting = (
  key: string | undefined,
  reason: string,
  detail?: RefusalDetail,
) => never

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
