import { money } from '../logic/words.ts'

/** What was spent of a budget, as a bar with its words. */
export function BudgetBar(props: {
  readonly label: string
  readonly spentUsd: number
  readonly maxUsd: number
}) {
  const { label, spentUsd, maxUsd } = props
  const words = `${money(spentUsd)} of ${money(maxUsd)}`
  return (
    <span class="budget">
      <meter
        aria-label={label}
        aria-valuetext={words}
        max={maxUsd}
        high={maxUsd * 0.8}
        optimum={0}
        value={Math.min(spentUsd, maxUsd)}
      />
      {words}
    </span>
  )
}
