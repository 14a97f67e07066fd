import { finishedStates, toText } from '../documents.ts'
import type { WriteResult } from '../store.ts'
import { boundedWait, type DatabaseRow, type Names, type SqlStatement } from './connection.ts'
import {
  bigintArray,
  boolArray,
  intArray,
  type LogRow,
  type OtherLine,
  removal,
  scopeColumn,
  type TaskLine,
  textArray,
  toldTo,
} from './rows.ts'

/** The statements of commits; each text is written once. */
export class CommitStatements {
  readonly #names: Names
  readonly #taskTexts = new Map<string, string>()
  readonly #texts: ReturnType<typeof textsIn>

  constructor(names: Names) {
    this.#names = names
    this.#texts = textsIn(names)
  }

  /**
   * The one statement of task writes: new tasks, changed tasks, their logs, what they take from their inboxes, the totals, and
   * notices to the replicas that watch them. It answers with the ids that were stored. Each part stands in it only where there
   * is something for it, so a small commit is a small statement; every column of many rows is one parameter.
   *
   * Expressions of SET see the row as it is after a wait for its lock, which subqueries do not: so what decides which replica
   * runs a task is counted in the row itself.
   *
   * @param lines No two of one task.
   */
  tasks(lines: readonly TaskLine[], replica: number): SqlStatement {
    const parts = partsOf(lines)
    const bit = (some: readonly TaskLine[]): string => (some.length > 0 ? '1' : '0')
    const { births, changes, taking, long } = parts
    const name = `commit_${bit(births)}${bit(changes)}${bit(taking)}${bit(long)}`
    const text = this.#taskTexts.get(name) ?? textOf(parts, this.#names)
    this.#taskTexts.set(name, text)
    return { name, text, values: valuesOf(parts, replica) }
  }

  /** A write that is not a task's: of a webhook, its cursor, a value of a context, or what removes. */
  other({ write, text }: OtherLine, turn: CommitTurn): OtherStatement {
    const { replica } = turn
    const texts = this.#texts
    switch (write.type) {
      case 'deleteTask':
        return {
          statement: named('delete_task', texts.deleteTask, [replica, write.id]),
          result: (rows) => removed(rows, turn),
        }
      case 'pushConfig': {
        const { taskId, id, cursor } = write.record
        const statement = named('push', texts.push, [replica, taskId, id, cursor, text])
        return { statement, result: versionIn }
      }
      case 'deletePushConfig':
        return {
          statement: named('delete_push', texts.deletePush, [replica, write.taskId, write.id]),
          result: ([row]) =>
            row?.removed === true || turn.isRepeated ? versionIn(row ? [row] : []) : missing,
        }
      case 'cursor': {
        const { taskId, id, cursor, deadLetter } = write
        const letter = deadLetter === undefined ? [null, null] : [deadLetter.id, text]
        const values = [replica, taskId, id, cursor, ...letter]
        return { statement: named('cursor', texts.cursor, values), result: versionIn }
      }
      case 'deleteDeadLetter':
        return {
          statement: named('delete_letter', texts.deleteLetter, [write.id]),
          result: (rows) => removed(rows, turn),
        }
      case 'contextValue': {
        // Keys may hold U+0000, which JSON writes as an escape.
        const place = [scopeColumn(write.scope), write.contextId, toText(write.key)]
        const statement =
          write.value === null
            ? named('drop_value', texts.dropValue, place)
            : named('put_value', texts.putValue, [...place, text])
        return { statement, result: () => gone }
      }
    }
  }

  /** Finds out what is stored of tasks; of writes that were tried before, with their records. */
  find(lines: readonly TaskLine[], isRepeated: boolean): SqlStatement {
    return named('find', this.#texts.find, [
      textArray(lines.map(({ head }) => head.id)),
      intArray(lines.map(({ expected }) => expected)),
      intArray(lines.map(({ version }) => version)),
      textArray(lines.map(({ scope }) => scope)),
      textArray(lines.map(({ key }) => key)),
      isRepeated,
    ])
  }
}

/** Who writes, and whether the same was tried before and its answer lost. */
export interface CommitTurn {
  readonly replica: number
  readonly isRepeated: boolean
}

/** A statement of a write that is not a task's, and what the answer means. */
interface OtherStatement {
  readonly statement: SqlStatement
  result(rows: readonly DatabaseRow[]): WriteResult
}

interface CommitParts {
  readonly births: readonly TaskLine[]
  readonly changes: readonly TaskLine[]
  /** Lines that take something from their inbox. */
  readonly taking: readonly TaskLine[]
  /** Lines that take more than one row of the log. */
  readonly long: readonly TaskLine[]
}

function partsOf(lines: readonly TaskLine[]): CommitParts {
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

/** A column of a part: its name, its type, and one parameter with its values in all rows. */
interface Column<T> {
  readonly name: string
  readonly type: string
  bind(rows: readonly T[]): Buffer
}

const text = columnOf('text', textArray)
const int = columnOf('int', intArray)
const bigint = columnOf('bigint', bigintArray)
const bool = columnOf('bool', boolArray)

function columnOf<V>(type: string, toArray: (values: readonly V[]) => Buffer) {
  return <T>(name: string, of: (row: T) => V): Column<T> => {
    return { name, type, bind: (rows) => toArray(rows.map(of)) }
  }
}

const birthColumns: readonly Column<TaskLine>[] = [
  text('id', ({ head }) => head.id),
  text('scope', ({ scope }) => scope),
  text('agent', ({ head }) => head.scope.agent),
  text('tenant', ({ head }) => head.scope.tenant),
  text('principal', ({ head }) => head.scope.owner),
  text('context_id', ({ head }) => head.contextId),
  text('state', ({ head }) => head.state),
  text('timestamp', ({ head }) => head.timestamp),
  int('version', ({ version }) => version),
  bool('busy', ({ head }) => head.busy),
  int('generation', ({ head }) => head.generation),
  text('build', ({ head }) => head.build),
  text('idempotency_key', ({ key }) => key),
  text('snapshot', ({ snapshot }) => snapshot),
  text('artifacts', ({ artifacts }) => artifacts),
  text('log', ({ records }) => records),
]

const changeColumns: readonly Column<TaskLine>[] = [
  text('id', ({ head }) => head.id),
  int('expected', ({ expected }) => expected),
  int('version', ({ version }) => version),
  text('context_id', ({ head }) => head.contextId),
  text('state', ({ head }) => head.state),
  text('timestamp', ({ head }) => head.timestamp),
  bool('busy', ({ head }) => head.busy),
  int('generation', ({ head }) => head.generation),
  text('build', ({ head }) => head.build),
  text('snapshot', ({ snapshot }) => snapshot),
  text('artifacts', ({ artifacts }) => artifacts),
  text('records', ({ records }) => records),
]

/** Entries that tasks take from their inboxes. */
const takenColumns: readonly Column<{ readonly id: string; readonly number: number }>[] = [
  text('task_id', ({ id }) => id),
  bigint('number', ({ number }) => number),
]

/** Rows of logs besides the first. */
const longColumns: readonly Column<LogRow & { readonly id: string }>[] = [
  text('task_id', ({ id }) => id),
  int('last_seq', ({ lastSeq }) => lastSeq),
  text('records', ({ records }) => records),
]

/** Binds the columns of the parts that have rows, in the order in which `textOf` names them. */
function valuesOf({ births, changes, taking, long }: CommitParts, replica: number): unknown[] {
  const values: unknown[] = [replica]
  const bind = <T>(columns: readonly Column<T>[], rows: readonly T[]): void => {
    if (rows.length > 0) for (const column of columns) values.push(column.bind(rows))
  }
  bind(birthColumns, births)
  bind(changeColumns, changes)
  if (taking.length > 0)
    bind(
      takenColumns,
      taking.flatMap(({ head: { id }, write }) =>
        (write.takes ?? []).map((number) => ({ id, number })),
      ),
    )
  if (long.length > 0)
    bind(
      longColumns,
      long.flatMap(({ head: { id }, more }) => more.map((row) => ({ id, ...row }))),
    )
  return values
}

function textOf({ births, changes, taking, long }: CommitParts, names: Names): string {
  const { schema } = names
  let bound = 1
  /** Rows of the next parameters. */
  const rows = (
    columns: readonly Pick<Column<unknown>, 'name' | 'type'>[],
    alias: string,
  ): string => {
    const types = columns.map(({ type }) => `$${++bound}::${type}[]`)
    return `unnest(${types.join(', ')}) AS ${alias}(${namesOf(columns)})`
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

function namesOf(columns: readonly { readonly name: string }[]): string {
  return columns.map(({ name }) => name).join(', ')
}

function birth(schema: string, rows: string): string {
  const columns = namesOf(birthColumns)
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
      FROM ${rows} WHERE t.id = i.id AND t.version = i.expected AND ${boundedWait}
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

const missing: WriteResult = { conflict: 0 }
const gone: WriteResult = { version: 0 }

/** What is not there any more when the same is tried again is what the first try took away. */
function removed(rows: readonly DatabaseRow[], { isRepeated }: CommitTurn): WriteResult {
  return rows.length > 0 || isRepeated ? gone : missing
}

/** A row has the task's version; `held` where the webhook is another replica's. */
function versionIn([row]: readonly DatabaseRow[]): WriteResult {
  if (row === undefined || row.version === null) return missing
  return row.held === true ? { conflict: Number(row.version) } : { version: Number(row.version) }
}

function named(name: string, text: string, values: unknown[]): SqlStatement {
  return { name, text, values }
}

/** Statements with one row to answer: the task's version, NULL or no row where there is no such task. */
function textsIn(names: Names) {
  const { schema, channel } = names
  const notice = "json_build_object('deliveries', $2::text)::text"
  const free = 'p.replica IS NULL OR p.replica IN (0, $1::int)'
  return {
    find: `SELECT t.version, (SELECT o.id FROM ${schema}.task o
      WHERE o.scope = i.scope AND o.idempotency_key = i.key) AS existing,
      CASE WHEN NOT $6::bool THEN NULL WHEN i.expected = 0 THEN t.log ELSE l.records END AS records
    FROM unnest($1::text[], $2::int[], $3::int[], $4::text[], $5::text[]) WITH ORDINALITY
      AS i(id, expected, version, scope, key, n)
    LEFT JOIN ${schema}.task t ON t.id = i.id
    LEFT JOIN ${schema}.log l ON l.task_id = i.id AND l.last_seq = i.version ORDER BY i.n`,
    deleteTask: removal(names, 't.id = $2::text'),
    // The owner of the task is notified of the webhook; a key lock keeps the task from being removed meanwhile.
    push: `WITH t AS (SELECT version, replica FROM ${schema}.task WHERE id = $2::text FOR KEY SHARE),
      w AS (INSERT INTO ${schema}.push AS p (task_id, id, cursor, record)
        SELECT $2::text, $3::text, $4::int, $5::text FROM t ON CONFLICT (task_id, id) DO UPDATE
        SET record = excluded.record, cursor = greatest(p.cursor, excluded.cursor), done = false),
      n AS (SELECT pg_notify('${channel}_' || replica, ${notice}) FROM t WHERE replica > 0 AND replica <> $1::int)
      SELECT version FROM t WHERE (SELECT count(*) FROM n) >= 0`,
    deletePush: `WITH d AS (DELETE FROM ${schema}.push WHERE task_id = $2::text AND id = $3::text RETURNING replica),
      t AS (SELECT version, replica FROM ${schema}.task WHERE id = $2::text),
      n AS (SELECT pg_notify('${channel}_' || replica, ${notice}) FROM (
          SELECT replica FROM d UNION SELECT replica FROM t WHERE EXISTS (SELECT 1 FROM d)) r
        WHERE replica > 0 AND replica <> $1::int)
      SELECT version, EXISTS (SELECT 1 FROM d) AS removed FROM t WHERE (SELECT count(*) FROM n) >= 0`,
    cursor: `WITH m AS (UPDATE ${schema}.push p SET cursor = greatest(p.cursor, $4::int),
          replica = CASE WHEN greatest(p.cursor, $4::int) < t.version THEN $1::int END,
          done = greatest(p.cursor, $4::int) >= t.version AND NOT t.busy AND t.state IN ${finishedStates}
        FROM ${schema}.task t WHERE t.id = $2::text AND p.task_id = $2::text AND p.id = $3::text AND (${free})
        RETURNING p.id),
      l AS (INSERT INTO ${schema}.dead_letter (id, task_id, letter)
        SELECT $5::text, $2::text, $6::text FROM m WHERE $5::text IS NOT NULL
        ON CONFLICT (id) DO UPDATE SET task_id = excluded.task_id, letter = excluded.letter)
      SELECT t.version, NOT EXISTS (SELECT 1 FROM m) AS held FROM ${schema}.task t
      JOIN ${schema}.push p ON p.task_id = t.id WHERE t.id = $2::text AND p.id = $3::text`,
    putValue: `INSERT INTO ${schema}.context_value VALUES ($1, $2, $3, $4)
    ON CONFLICT (scope, context_id, md5(key)) DO UPDATE SET value = excluded.value`,
    dropValue: `DELETE FROM ${schema}.context_value
    WHERE scope = $1 AND context_id = $2 AND md5(key) = md5($3) AND key = $3`,
    deleteLetter: `DELETE FROM ${schema}.dead_letter WHERE id = $1::text RETURNING id`,
  }
}
