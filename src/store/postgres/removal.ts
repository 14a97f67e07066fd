import type { Names } from './names.ts'
import { toldTo } from './notices.ts'

/**
 * A statement that removes tasks with all that hangs on them, the values of a context with its last task, and answers with
 * the ids. `$1` is the replica that writes.
 *
 * @param which The condition on `t`, the task.
 */
export function removal(names: Names, which: string): string {
  const { schema } = names
  const hanging = ['log', 'inbox', 'push', 'dead_letter'].map(
    (table) =>
      `${table}_gone AS (DELETE FROM ${schema}.${table} h USING gone WHERE h.task_id = gone.id)`,
  )
  return `WITH gone AS (DELETE FROM ${schema}.task t WHERE ${which}
      RETURNING t.id, t.scope, t.agent, t.state, t.context_id, t.watchers, 0 AS version),
    ${hanging.join(',\n')},
    values_gone AS (DELETE FROM ${schema}.context_value v USING (SELECT DISTINCT scope, context_id FROM gone) g
      WHERE v.scope = g.scope AND v.context_id = g.context_id AND NOT EXISTS (SELECT 1 FROM ${schema}.task t
        WHERE t.scope = g.scope AND t.context_id = g.context_id AND t.id NOT IN (SELECT id FROM gone))),
    counted AS (INSERT INTO ${schema}.total AS o SELECT scope, agent, state, $1::int & 15, -count(*) FROM gone
      GROUP BY scope, agent, state ORDER BY scope, state
      ON CONFLICT (scope, state, part) DO UPDATE SET tasks = o.tasks + excluded.tasks),
    ${toldTo('gone', names)}
    SELECT id FROM gone WHERE (SELECT count(*) FROM told) >= 0`
}
