/**
 * How databases count long lists. A list is all tasks of a scope, or those of one of its contexts.
 *
 * A list of up to `uncounted` tasks is counted row by row in its index. A longer one has spans: time is cut into pieces of about
 * `spanTasks` tasks each, and the table `span` has how many tasks of each state have their status in each piece. So the tasks
 * since a moment are the sum of the spans that begin later, and a count within the one span that holds the moment.
 *
 * - list: empty for the scope's own, else a colon and the context's id.
 * - since: where the span begins; it ends where the next one does. Empty for the row that counts the whole list, and
 *   `firstSpan` for the first span.
 *
 * Every task that comes, changes or goes is counted in its transaction, where its list has spans: by the one writer of a file,
 * and by triggers of a database. So the counts are exact. What has to be noticed is that a list, or a span, has become long. One in `sampleEvery` writes has its lists
 * looked at, so a long list is found soon, and nothing has to be remembered; until then counting takes longer, and is as exact.
 * Tasks of the very same moment stay in one span, however many they are.
 */

/** Tasks of a span when it is made. */
export const spanTasks = 1_000

/** The longest list, and the longest span, that stays as it is. */
export const uncounted = 2_000

/** One in so many writes has its lists looked at; a prime number, so that writes in turn do not escape. */
export const sampleEvery = 499

/** Where the first span of a list begins: before every timestamp. */
export const firstSpan = ' '

/** A text after every timestamp. */
export const afterAll = '~'

/** A list as the table names it. */
export function listOf(contextId: string | undefined): string {
  return contextId === undefined ? '' : `:${contextId}`
}
