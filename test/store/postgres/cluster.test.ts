import { expect, it } from 'vitest'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { describeFeed } from '../../contracts/feed.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'
import { openPostgresWorld } from './world.ts'

describePostgres('several processes on one PostgreSQL', () => {
  const database = usePostgres()

  it('refuse a lease that would be over before it is confirmed again', async () => {
    const opening = openPostgresStore({
      url: database.url,
      schema: database.newSchema(),
      leaseMs: 1_000,
      beatMs: 500,
    })
    await expect(opening).rejects.toThrow(
      'leaseMs is 1000; with beatMs 500 it must be 1100 or more',
    )
  })

  describeFeed('PostgreSQL', async () => openPostgresWorld(database, 'never'))
})
