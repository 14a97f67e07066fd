import type { Explanation } from '../../src/protocol/failure.ts'

/** What failed, which member and attempt, what was answered, and what to do; nothing where nothing failed. */
export function Why({ why }: { readonly why: readonly Explanation[] | undefined }) {
  if (!why?.length) return null
  return (
    <section class="panel pad why" aria-label="Why it failed">
      {why.map((one) => (
        <article key={JSON.stringify(one)}>
          <h2>{one.what}</h2>
          <p class="soft">
            {one.member}
            {one.team && ` of team ${one.team}`}, attempt {one.attempt}
          </p>
          {one.words.length > 0 && <pre>{one.words.join('\n')}</pre>}
          <p>
            {one.remedy}.{' '}
            <a href={toGuide(one)} target="_blank" rel="noopener">
              {one.section}
            </a>
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
