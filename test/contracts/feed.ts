import { afterEach, beforeEach, describe } from 'vitest'
import { describeClaims } from './feed/claims.ts'
import { describeDeliveries } from './feed/deliveries.ts'
import { describeInboxes } from './feed/inboxes.ts'
import { describeMembers } from './feed/members.ts'
import { describeWatches } from './feed/watches.ts'
import {
  createListener,
  type FeedUnderTest,
  type FeedWorld,
  type Member,
  type MemberOptions,
} from './feed/world.ts'

/** What stores that several processes share owe them. A new `Feed` passes this; these rules are tested nowhere else. */
export function describeFeed(name: string, openWorld: () => Promise<FeedWorld>): void {
  describe(`${name} feed`, () => {
    let world: FeedWorld
    const under: FeedUnderTest = {
      get world() {
        return world
      },
      join: (options) => join(world, options),
    }
    beforeEach(async () => {
      world = await openWorld()
    })
    afterEach(() => world.close())
    describeMembers(under)
    describeClaims(under)
    describeInboxes(under)
    describeWatches(under)
    describeDeliveries(under)
  })
}

async function join(world: FeedWorld, options: MemberOptions = {}): Promise<Member> {
  const store = await world.open(options)
  const { serving = [{ agent: 'agent', build: '' }] } = options
  const { heard, listener } = createListener()
  const { feed } = store
  await feed.join(serving, listener)
  return { store, feed, heard }
}
