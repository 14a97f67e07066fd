import type { DatabaseConnection } from './connection.ts'
import { type DatabaseMigration, databaseMigrations } from './migrations.ts'
import type { Names } from './names.ts'

/** What stands in a database about its schema. */
interface Version {
  readonly schema: number
  /** The lowest version of the schema that a program must know to work with it. */
  readonly oldestReader: number
}

/**
 * Brings a database to the newest schema, from an empty one on. Replicas that start together wait for each other: one
 * migrates, the others find it done. A schema that is newer but still meant for us is left as it is.
 *
 * @throws Error where the database was written by a version that we are too old for.
 */
export async function migrateDatabase(
  connection: DatabaseConnection,
  { schema, lockClass }: Names,
  steps: readonly DatabaseMigration[] = databaseMigrations,
): Promise<void> {
  const found = await versionOf(connection, schema)
  mustKnow(found, steps.length)
  if (found.schema >= steps.length) return
  await connection.query({ text: 'BEGIN' })
  try {
    // Replica numbers begin at 1, so that 0 is nobody's lock.
    await connection.query({ text: `SELECT pg_advisory_xact_lock(${lockClass}, 0)` })
    const { schema: from } = await versionOf(connection, schema)
    if (from === 0) await begin(connection, schema)
    for (const step of steps.slice(from))
      await connection.query({ text: step.sql.replaceAll('{s}', schema) })
    const { oldestReader = 1 } = steps.at(-1) ?? {}
    if (from < steps.length)
      await connection.query({
        text: `UPDATE ${schema}.meta SET schema = $1, oldest_reader = greatest(oldest_reader, $2)`,
        values: [steps.length, oldestReader],
      })
    await connection.query({ text: 'COMMIT' })
  } catch (error) {
    await connection.query({ text: 'ROLLBACK' }).catch(() => {})
    throw error
  }
}

/** A schema that somebody else made for us is used as it is: to make one takes a right of its own. */
async function begin(connection: DatabaseConnection, schema: string): Promise<void> {
  const text = 'SELECT 1 FROM pg_namespace WHERE nspname = $1'
  const [found] = await connection.query({ text, values: [schema] })
  if (!found) await connection.query({ text: `CREATE SCHEMA ${schema}` })
  await connection.query({
    text: `CREATE TABLE ${schema}.meta (schema int NOT NULL, oldest_reader int NOT NULL);
      INSERT INTO ${schema}.meta VALUES (0, 1)`,
  })
}

/** The version of the schema that stands in a database; 0 where there is none. */
export async function versionOf(connection: DatabaseConnection, schema: string): Promise<Version> {
  // Read as rows, not by `to_regclass`, which may not see yet what another replica has just made.
  const text = `SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = 'meta'`
  const [table] = await connection.query({ text, values: [schema] })
  if (!table) return { schema: 0, oldestReader: 1 }
  const [row] = await connection.query({
    text: `SELECT schema, oldest_reader FROM ${schema}.meta`,
  })
  return { schema: Number(row?.schema ?? 0), oldestReader: Number(row?.oldest_reader ?? 1) }
}

function mustKnow({ schema, oldestReader }: Version, known: number): void {
  if (oldestReader > known)
    throw new Error(
      `the database has schema ${schema}, which needs version ${oldestReader}; this version of Corral knows ${known}: use a newer one`,
    )
}
