import type { Explanation } from '../../src/protocol/failure.ts'
import { toAddress } from '../logic/route.ts'

/** What failed, which member and attempt, what was answered, and what to do; nothing where nothing failed. */
export function Why({ why }: { readonly why: readonly Explanation[] | undefined }) {
  if (!why?.length) return null
  const isPassed = why.every(({ continued }) => continued)
  return (
    <section
      class={isPassed ? 'panel pad why continued' : 'panel pad why'}
      aria-label={isPassed ? 'What failed on the way' : 'Why it failed'}
    >
      {why.map((one) => (
        <article key={JSON.stringify(one)} class={one.continued ? 'continued' : undefined}>
          <h2>{one.what}</h2>
          <p class="soft">
            {one.member}
            {one.team && ` of team ${one.team}`}, attempt {one.attempt}
            {one.continued && '; the task continued'}
          </p>
          {one.words.length > 0 && <pre>{one.words.join('\n')}</pre>}
          <p>
            {one.remedy}. See{' '}
            <a href={toGuide(one)} target="_blank" rel="noopener">
              {one.section}
            </a>
            {one.cause === 'webhook' && (
              <>
                {' '}
                or open <a href={toAddress({ view: 'webhooks' })}>Webhooks</a>
              </>
            )}
            .
          </p>
        </article>
      ))}
    </section>
  )
}

/** The guide is plain text: the browser finds the heading in it, whatever its level. */
function toGuide({ section }: Explanation): string {
  return `/console/errors.md#:~:text=${encodeURIComponent(`## ${section}`).replaceAll('-', '%2D')}`
}
