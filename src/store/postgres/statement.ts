import { bigintArray, boolArray, intArray, textArray } from './arrays.ts'
import type { SqlStatement } from './connection.ts'
import type { TaskLine } from './lines.ts'
import type { Names } from './names.ts'
import { toldTo } from './notices.ts'

/**
 * The one statement of a commit: new tasks, changed tasks, their logs, what they take from their inboxes, the totals, and
 * notices to whoever watches them. It answers with the ids that were stored. Each part stands in it only where there is
 * something for it, so a small commit is a small statement; every column of many rows is one parameter.
 *
 * Expressions of SET see the row as it is after a wait for its lock, which subqueries do not: so what decides who runs a
 * task is counted in the row itself.
 */
export interface TaskStatements {
  /** @param lines No two of one task. @param replica Whoever writes. */
  of(lines: readonly TaskLine[], replica: number): SqlStatement
}

/** Makes the statements of commits; each is written once. */
export function createTaskStatements(names: Names): TaskStatements {
  const texts = new Map<string, string>()
  return {
    of(lines, replica) {
      const parts = partsOf(lines)
      const name = nameOf(parts)
      const text = texts.get(name) ?? textOf(parts, names)
      texts.set(name, text)
      return { name, text, values: valuesOf(parts, replica) }
    },
  }
}

interface Parts {
  readonly births: readonly TaskLine[]
  readonly changes: readonly TaskLine[]
  /** Lines that take something from their inbox. */
  readonly taking: readonly TaskLine[]
  /** Lines whose log takes more than one row. */
  readonly long: readonly TaskLine[]
}

function partsOf(lines: readonly TaskLine[]): Parts {
  const births: TaskLine[] = []
  const changes: TaskLine[] = []
  const taking: TaskLine[] = []
  const long: TaskLine[] = []
  for (const line of lines) {
    if (line.expected === 0) births.push(line)
    else changes.push(line)
    if (line.write.takes?.length) taking.push(line)
    if (line.more.length > 0) long.push(line)
  }
  return { births: sorted(births), changes: sorted(changes), taking, long }
}

/** Rows are locked in the order of their ids, so that two commits wait for each other and not in a circle. */
function sorted(lines: TaskLine[]): readonly TaskLine[] {
  return lines.sort((a, b) => (a.head.id < b.head.id ? -1 : 1))
}

function nameOf({ births, changes, taking, long }: Parts): string {
  const bit = (lines: readonly TaskLine[]): string => (lines.length > 0 ? '1' : '0')
  return `commit_${bit(births)}${bit(changes)}${bit(taking)}${bit(long)}`
}

/** The columns of each part, in the order in which they are bound; `valuesOf` binds them so. */
const birthColumns = [
  ...['id text', 'scope text', 'agent text', 'tenant text', 'principal text', 'context_id text'],
  ...['state text', 'timestamp text', 'version int', 'busy bool', 'generation int', 'build text'],
  ...['idempotency_key text', 'snapshot text', 'artifacts text', 'log text'],
]
const changeColumns = [
  ...['id text', 'expected int', 'version int', 'context_id text', 'state text', 'timestamp text'],
  ...['busy bool', 'generation int', 'build text', 'snapshot text', 'artifacts text'],
  'records text',
]
const takenColumns = ['task_id text', 'number bigint']
const longColumns = ['task_id text', 'last_seq int', 'records text']

function valuesOf({ births, changes, taking, long }: Parts, replica: number): unknown[] {
  const values: unknown[] = [replica]
  if (births.length > 0) bindBirths(values, births)
  if (changes.length > 0) bindChanges(values, changes)
  if (taking.length > 0) {
    const pairs = taking.flatMap(({ head, write }) =>
      (write.takes ?? []).map((number) => ({ id: head.id, number })),
    )
    values.push(textArray(pairs.map(({ id }) => id)))
    values.push(bigintArray(pairs.map(({ number }) => number)))
  }
  if (long.length > 0) {
    const rows = long.flatMap(({ head, more }) => more.map((row) => ({ id: head.id, ...row })))
    values.push(textArray(rows.map(({ id }) => id)))
    values.push(intArray(rows.map(({ lastSeq }) => lastSeq)))
    values.push(textArray(rows.map(({ records }) => records)))
  }
  return values
}

function bindBirths(values: unknown[], lines: readonly TaskLine[]): void {
  values.push(
    textArray(lines.map(({ head }) => head.id)),
    textArray(lines.map(({ scope }) => scope)),
    textArray(lines.map(({ head }) => head.scope.agent)),
    textArray(lines.map(({ head }) => head.scope.tenant)),
    textArray(lines.map(({ head }) => head.scope.owner)),
    textArray(lines.map(({ head }) => head.contextId)),
    textArray(lines.map(({ head }) => head.state)),
    textArray(lines.map(({ head }) => head.timestamp)),
    intArray(lines.map(({ version }) => version)),
    boolArray(lines.map(({ head }) => head.busy)),
    intArray(lines.map(({ head }) => head.generation)),
    textArray(lines.map(({ head }) => head.build)),
    textArray(lines.map(({ key }) => key)),
    textArray(lines.map(({ snapshot }) => snapshot)),
    textArray(lines.map(({ artifacts }) => artifacts)),
    textArray(lines.map(({ records }) => records)),
  )
}

function bindChanges(values: unknown[], lines: readonly TaskLine[]): void {
  values.push(
    textArray(lines.map(({ head }) => head.id)),
    intArray(lines.map(({ expected }) => expected)),
    intArray(lines.map(({ version }) => version)),
    textArray(lines.map(({ head }) => head.contextId)),
    textArray(lines.map(({ head }) => head.state)),
    textArray(lines.map(({ head }) => head.timestamp)),
    boolArray(lines.map(({ head }) => head.busy)),
    intArray(lines.map(({ head }) => head.generation)),
    textArray(lines.map(({ head }) => head.build)),
    textArray(lines.map(({ snapshot }) => snapshot)),
    textArray(lines.map(({ artifacts }) => artifacts)),
    textArray(lines.map(({ records }) => records)),
  )
}

function textOf({ births, changes, taking, long }: Parts, names: Names): string {
  const { schema } = names
  let bound = 1
  /** Rows of the next parameters. */
  const rows = (columns: readonly string[], alias: string): string => {
    const types = columns.map((column) => `$${++bound}::${column.split(' ')[1]}[]`)
    return `unnest(${types.join(', ')}) AS ${alias}(${columns.map(toName).join(', ')})`
  }
  const ctes: string[] = []
  if (births.length > 0) ctes.push(birth(schema, rows(birthColumns, 'i')))
  const changing = changes.length > 0 ? rows(changeColumns, 'i') : ''
  const taken = taking.length > 0 ? rows(takenColumns, 'k') : undefined
  const further = long.length > 0 ? rows(longColumns, 'm') : undefined
  if (changing !== '') ctes.push(...change(schema, changing, taken), toldTo('changed', names))
  const stored = [
    ...(births.length > 0 ? ['SELECT id FROM added'] : []),
    // A part that only reads runs only where it is read.
    ...(changing !== '' ? ['SELECT id FROM changed WHERE (SELECT count(*) FROM told) >= 0'] : []),
  ].join(' UNION ALL ')
  if (further)
    ctes.push(`further AS (INSERT INTO ${schema}.log SELECT m.task_id, m.last_seq, m.records FROM ${further}
      WHERE m.task_id IN (${stored}))`)
  ctes.push(count(schema, births.length > 0, changing !== ''))
  return `WITH ${ctes.join(',\n')}\n${stored}`
}

function toName(column: string): string {
  return column.split(' ')[0] ?? ''
}

function birth(schema: string, rows: string): string {
  const columns = birthColumns.map(toName).join(', ')
  return `added AS (INSERT INTO ${schema}.task (${columns}, snapshot_version, replica)
    SELECT ${columns}, version, CASE WHEN busy THEN $1::int END FROM ${rows}
    ON CONFLICT DO NOTHING RETURNING id, scope, agent, state)`
}

function change(schema: string, rows: string, taken: string | undefined): string[] {
  const count = taken
    ? `(SELECT count(*)::int FROM ${taken} JOIN ${schema}.inbox b ON b.number = k.number AND b.task_id = k.task_id
        WHERE k.task_id = i.id)`
    : '0'
  const ctes = [
    `changed AS (UPDATE ${schema}.task t SET former = t.state, state = i.state, context_id = i.context_id,
      timestamp = i.timestamp, version = i.version, busy = i.busy, generation = i.generation, build = i.build,
      mail = t.mail - ${count}, replica = CASE WHEN i.busy OR t.mail - ${count} > 0 THEN $1::int END,
      snapshot_version = CASE WHEN i.snapshot IS NULL THEN t.snapshot_version ELSE i.version END,
      snapshot = coalesce(i.snapshot, t.snapshot),
      artifacts = CASE WHEN i.snapshot IS NULL THEN t.artifacts ELSE i.artifacts END
      FROM ${rows} WHERE t.id = i.id AND t.version = i.expected
      RETURNING t.id, t.scope, t.agent, t.state, t.former, t.version, t.watchers, i.records)`,
    `logged AS (INSERT INTO ${schema}.log SELECT id, version, records FROM changed WHERE records IS NOT NULL)`,
  ]
  if (taken)
    ctes.push(`took AS (DELETE FROM ${schema}.inbox b USING ${taken}, changed c
      WHERE c.id = k.task_id AND b.task_id = k.task_id AND b.number = k.number)`)
  return ctes
}

/** Totals are kept in parts, so that replicas seldom wait for each other's; each writes its own. */
function count(schema: string, hasBirths: boolean, hasChanges: boolean): string {
  const moved = 'FROM changed WHERE former <> state'
  const steps = [
    ...(hasBirths ? ['SELECT scope, agent, state, 1 AS step FROM added'] : []),
    ...(hasChanges
      ? [
          `SELECT scope, agent, state, 1 AS step ${moved}`,
          `SELECT scope, agent, former, -1 AS step ${moved}`,
        ]
      : []),
  ]
  return `counted AS (INSERT INTO ${schema}.total AS o SELECT scope, agent, state, $1::int & 15, sum(step)
    FROM (${steps.join(' UNION ALL ')}) s GROUP BY scope, agent, state HAVING sum(step) <> 0 ORDER BY scope, state
    ON CONFLICT (scope, state, part) DO UPDATE SET tasks = o.tasks + excluded.tasks)`
}
