import type { BuiltInScorer, RewardChecks, ScorerInput } from './scorer.ts'

/** A built-in scorer by what it finds: 1 where all is met, also where nothing is asked; null where nobody judged. */
export function defineBuiltIn(
  row: Pick<BuiltInScorer, 'name' | 'needs' | 'reasons'> & {
    find(input: ScorerInput): Promise<Partial<RewardChecks>> | Partial<RewardChecks>
  },
): BuiltInScorer {
  return {
    ...row,
    async score(input) {
      const fields = await row.find(input)
      const checks = row.reasons({ ...noChecks, ...fields })
      const reward = checks ? Number(checks.every(({ met }) => met)) : null
      return { reward, checks: checks ?? [], fields }
    },
  }
}

/** The fields of a conversation of which nothing was looked at. */
export const noChecks: RewardChecks = {
  db_check: null,
  env_assertions: null,
  action_checks: null,
  communicate_checks: null,
  nl_assertions: null,
}
