import { toShownStore } from '../store/index.ts'
import { CliError } from './errors.ts'

/** What `--schema` is, for the help of commands that take a store. */
export const schemaHelp: string = 'the schema of a PostgreSQL database (default: corral)'

/** Refuses to copy a database file by file, and says what does it. */
export function mustDumpInstead(url: string, target: string): never {
  throw new CliError(`${toShownStore(url)} is a PostgreSQL database, which has a tool of its own`, {
    hint: `pg_dump --format=custom --schema=corral --file=${target} "$DATABASE_URL"; pg_restore brings it back.`,
  })
}
