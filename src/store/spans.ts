/**
 * How databases count long lists. A list is all tasks of a scope, or those of one of its contexts.
 *
 * A list of up to `uncounted` tasks is counted row by row in its index. A longer one has spans: time is cut into pieces of about
 * `spanTasks` tasks each, and the table `span` stores how many tasks of each state have a status timestamp in each piece. So the
 * number of tasks since a moment is the sum of the spans that begin later, plus a count within the span that contains the moment.
 *
 * A list of more than `ungrouped` spans has groups of `groupSpans` spans as well, so that few rows are added up however long the
 * list is. A group is stored like a span, and begins where its first span does.
 *
 * - list: empty for the scope's own, else a colon and the context's id. The groups of a list have `groupMark` before that.
 * - since: where the span begins; it ends where the next one does. `firstSpan` for the first span, and empty for the row that
 *   counts the whole list of a context. Scopes have no such row: the table `total` counts them.
 *
 * Where a list has spans, every task that is created, changed or removed is counted in the same transaction: by the one writer
 * of a SQLite file, and by triggers in PostgreSQL. So the counts are exact.
 *
 * One in `sampleEvery` writes has its lists checked for having become long, so a long list is found soon and no list has to be
 * remembered. Until then a count takes longer and is just as exact. Tasks of the very same moment stay in one span, however
 * many they are.
 *
 * The migrations of both databases, and with them the functions in PostgreSQL, hold these numbers and texts as literals: to
 * change one of them there takes a new migration.
 */

/** Tasks in a span when it is created. */
export const spanTasks = 1_000

/** The longest list without spans, and the longest span that is not cut. */
export const uncounted = 2_000

/** Spans in a group when it is created. */
export const groupSpans = 16

/** The most spans of a list without groups, and of a group that is not cut. */
export const ungrouped = 32

/** Stands before the name of a list in the rows of its groups. */
export const groupMark = '^'

/** One in so many writes has its lists checked; a prime, so that lists written in turn are all sampled. */
export const sampleEvery = 499

/** Where the first span of a list begins: before every timestamp. */
export const firstSpan = ' '

/** A text after every timestamp. */
export const afterAll = '~'

/** The column `list`: of a context, or of the whole scope. */
export function listOf(contextId: string | undefined): string {
  return contextId === undefined ? '' : `:${contextId}`
}

/**
 * The number of tasks since a moment in a long list, as SQL: the groups and spans that begin later, and a count of the tasks
 * before the first of them.
 *
 * @param spans The rows of the list in the table of spans, from FROM on.
 * @param after The moment, as it is bound.
 * @param ofState The further condition of one state; empty for all.
 * @param countBefore Counts the tasks from the moment on and before another one.
 */
export function totalSince(
  spans: string,
  after: string,
  { ofState, countBefore }: { readonly ofState: string; countBefore(moment: string): string },
): string {
  const later = `${spans} AND since > ${after}`
  const groups = later.replace('list = ', `list = '${groupMark}' || `)
  const next = (rows: string): string =>
    `coalesce((SELECT since ${rows} ORDER BY since LIMIT 1), '${afterAll}')`
  const sum = (rows: string): string => `coalesce((SELECT sum(tasks) ${rows} ${ofState}), 0)`
  const whole = `${sum(groups)} + ${sum(`${later} AND since < ${next(groups)}`)}`
  return `SELECT ${whole} + ${countBefore(next(later))} AS total`
}
