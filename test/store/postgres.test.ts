import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { describeStore } from '../contracts/store.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'

describePostgres('the store in PostgreSQL', () => {
  const database = usePostgres()
  describeStore('PostgreSQL', (options) =>
    openPostgresStore({ ...options, url: database.url, schema: database.newSchema() }),
  )
})
