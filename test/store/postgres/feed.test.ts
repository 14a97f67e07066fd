import { describeFeed } from '../../contracts/feed.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'
import { openPostgresWorld } from './world.ts'

describePostgres('several processes on one PostgreSQL', () => {
  const database = usePostgres()
  describeFeed('PostgreSQL', async () => openPostgresWorld(database, 'never'))
})
