import { refusalOf } from '../refusal.ts'
import type { WriteResult } from '../store.ts'
import { intArray, textArray } from './arrays.ts'
import type { DatabaseRow } from './connection.ts'
import { isBroken, isUnstorable, sqlStateOf } from './faults.ts'
import type { TaskLine, WriteLine } from './lines.ts'
import type { DatabaseLink } from './link.ts'
import type { Names } from './names.ts'
import { type CommitTurn, createOtherWriter, type OtherWriter } from './others.ts'
import { type CommitStep, planOf } from './plan.ts'
import { createTaskStatements, type TaskStatements } from './statement.ts'

/** Writes a group of commits on one connection, all or nothing. Rejects with the driver's error. */
export type CommitGroup = (
  lines: readonly WriteLine[],
  turn: CommitTurn,
) => Promise<readonly WriteResult[]>

/** What a group is written with. */
interface Tools {
  readonly link: DatabaseLink
  readonly statements: TaskStatements
  readonly writeOther: OtherWriter
  readonly find: string
}

/**
 * Commits on one connection. Tasks of a group are one statement, which is its own transaction; a transaction of several is
 * begun only where something else is among them. What the database does not take is found by halves, and refused alone.
 */
export function createCommitGroup(link: DatabaseLink, names: Names): CommitGroup {
  const statements = createTaskStatements(names)
  const tools: Tools = {
    link,
    statements,
    writeOther: createOtherWriter(names),
    find: findIn(names),
  }
  return async (lines, turn) => {
    const group = new Group(lines, turn, tools)
    await group.write()
    return group.results
  }
}

class Group {
  readonly results: WriteResult[]
  readonly #lines: readonly WriteLine[]
  readonly #turn: CommitTurn
  readonly #tools: Tools

  constructor(lines: readonly WriteLine[], turn: CommitTurn, tools: Tools) {
    this.#lines = lines
    this.#turn = turn
    this.#tools = tools
    this.results = lines.map((line) =>
      line.type === 'refused' ? { refused: line.reason } : { conflict: 0 },
    )
  }

  async write(): Promise<void> {
    const places = [...this.#lines.keys()]
    const steps = planOf(this.#lines, places)
    if (steps.length === 0) return
    try {
      if (steps.length === 1 && steps[0]?.type === 'tasks') await this.#run(steps[0])
      else await this.#within(() => this.#runAll(steps))
    } catch (error) {
      if (!isUnstorable(error)) throw error
      await this.#within(() => this.#part(places))
    }
  }

  async #within(work: () => Promise<void>): Promise<void> {
    const { link } = this.#tools
    await link.query({ text: 'BEGIN' })
    try {
      await work()
      await link.query({ text: 'COMMIT' })
    } catch (error) {
      if (!isBroken(error)) await link.query({ text: 'ROLLBACK' }).catch(() => link.reset())
      throw error
    }
  }

  /** Writes what can be written. Where something cannot, each half is tried by itself. */
  async #part(places: readonly number[]): Promise<void> {
    const { link } = this.#tools
    await link.query({ text: 'SAVEPOINT part' })
    try {
      await this.#runAll(planOf(this.#lines, places))
      await link.query({ text: 'RELEASE SAVEPOINT part' })
    } catch (error) {
      if (!isUnstorable(error)) throw error
      await link.query({ text: 'ROLLBACK TO SAVEPOINT part' })
      const middle = places.length >> 1
      if (middle === 0) for (const place of places) this.#refuse(place, error)
      else {
        await this.#part(places.slice(0, middle))
        await this.#part(places.slice(middle))
      }
    }
  }

  #refuse(place: number, error: unknown): void {
    const line = this.#lines[place]
    if (line === undefined || line.type === 'refused') return
    this.results[place] = { refused: refusalOf(line.write, { holding: culpritOf(error) }) }
  }

  async #runAll(steps: readonly CommitStep[]): Promise<void> {
    for (const step of steps) await this.#run(step)
  }

  async #run({ type, places }: CommitStep): Promise<void> {
    if (type === 'tasks') return this.#writeTasks(places)
    const { link, writeOther } = this.#tools
    for (const place of places) {
      const line = this.#lines[place]
      if (line?.type !== 'other') continue
      this.results[place] = await writeOther((one) => link.query(one), line, this.#turn)
    }
  }

  async #writeTasks(places: readonly number[]): Promise<void> {
    const { link, statements } = this.#tools
    const lines = places.flatMap((place) => {
      const line = this.#lines[place]
      return line?.type === 'task' ? [line] : []
    })
    const rows = await link.query(statements.of(lines, this.#turn.replica))
    for (const [i, place] of places.entries())
      this.results[place] = { version: lines[i]?.version ?? 0 }
    if (rows.length === lines.length) return
    const stored = new Set(rows.map(({ id }) => id))
    const left = places.filter((_, i) => !stored.has(lines[i]?.head.id))
    await this.#explain(left)
  }

  /** Finds out why tasks were not stored; or that they were, by a try whose answer was lost. */
  async #explain(places: readonly number[]): Promise<void> {
    const { link, find } = this.#tools
    const lines = places.flatMap((place) => {
      const line = this.#lines[place]
      return line?.type === 'task' ? [line] : []
    })
    const { isRepeated } = this.#turn
    const rows = await link.query({
      name: 'find',
      text: find,
      values: [
        textArray(lines.map(({ head }) => head.id)),
        intArray(lines.map(({ expected }) => expected)),
        intArray(lines.map(({ version }) => version)),
        textArray(lines.map(({ scope }) => scope)),
        textArray(lines.map(({ key }) => key)),
        isRepeated,
      ],
    })
    for (const [i, place] of places.entries()) {
      const [line, row] = [lines[i], rows[i]]
      if (line && row) this.results[place] = resultOf(line, row, isRepeated)
    }
  }
}

/**
 * Says what became of a task that was not stored now. The log tells whether it was stored before: by the very text, since
 * another replica may have brought the task to the same version.
 */
function resultOf(line: TaskLine, row: DatabaseRow, isRepeated: boolean): WriteResult {
  const { version, existing, records } = row
  if (isRepeated && line.records !== null && records === line.records)
    return { version: line.version }
  if (typeof existing === 'string') return { existing }
  return { conflict: Number(version ?? 0) }
}

function findIn({ schema }: Names): string {
  return `SELECT t.version, (SELECT o.id FROM ${schema}.task o
      WHERE o.scope = i.scope AND o.idempotency_key = i.key) AS existing,
      CASE WHEN NOT $6::bool THEN NULL WHEN i.expected = 0 THEN t.log ELSE l.records END AS records
    FROM unnest($1::text[], $2::int[], $3::int[], $4::text[], $5::text[]) WITH ORDINALITY
      AS i(id, expected, version, scope, key, n)
    LEFT JOIN ${schema}.task t ON t.id = i.id
    LEFT JOIN ${schema}.log l ON l.task_id = i.id AND l.last_seq = i.version ORDER BY i.n`
}

function culpritOf(error: unknown): string {
  const state = sqlStateOf(error)
  if (state === '22021' || state === '22P05') return 'a character that the database cannot store'
  return state?.startsWith('54')
    ? 'a name that is longer than the database can store'
    : 'a value that the database cannot store'
}
