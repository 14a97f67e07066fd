import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { describeShared } from '../contracts/shared.ts'
import { describeStore } from '../contracts/store.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'

describePostgres('the store in PostgreSQL', () => {
  const database = usePostgres()

  describeStore('PostgreSQL', (options) =>
    openPostgresStore({ ...options, url: database.url, schema: database.newSchema() }),
  )

  describeShared('PostgreSQL', async () => {
    const options = { url: database.url, schema: database.newSchema() }
    return [await openPostgresStore(options), await openPostgresStore(options)]
  })
})
