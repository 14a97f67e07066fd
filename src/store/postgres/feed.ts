import type { Feed, FeedListener, HeldTask } from '../feed.ts'
import { createWake } from './deliveries.ts'
import { readFacts } from './facts.ts'
import { databaseReason } from './faults.ts'
import { createInboxes, type InboxParts } from './inbox.ts'
import { Membership, type MembershipParts } from './membership.ts'
import { parseNotice } from './notices.ts'
import { Watches } from './watches.ts'

/** What a feed is made of. */
type FeedParts = Omit<MembershipParts, 'registered' | 'told'> & InboxParts

/** How often what may have been missed is read. */
const pollMs = 5_000

/**
 * How the processes on one database work together.
 * @throws RangeError for a lease that would be over before it can be confirmed again.
 */
export function createFeed(parts: FeedParts): Feed {
  const { names, readers, clock, logger } = parts
  mustHold(parts)
  let listener: FeedListener | undefined
  let callOff = (): void => {}
  let isLeft = false
  const replica = (): number => membership.replica
  const watches = new Watches({
    names,
    readers,
    clock,
    logger,
    replica,
    grown: (taskId, version) => listener?.grown(taskId, version),
  })
  const membership = new Membership({ ...parts, told, registered: () => watches.renew() })
  const inboxes = createInboxes(parts)

  /** Passes a notice on. One that is not understood may be a newer version's. */
  function told(payload: string): void {
    const notice = parseNotice(payload)
    if (notice?.kind === 'grown')
      for (const [id, version] of notice.tasks) watches.heard(id, version)
    else if (notice?.kind === 'mail') listener?.mail(notice.taskId, notice.agent)
    else if (notice?.kind === 'deliveries') listener?.deliveries(notice.taskId)
    else if (notice?.kind === 'orphans') listener?.orphans()
  }

  function pollLater(): void {
    if (isLeft) return
    callOff = clock.after(pollMs, () => {
      poll()
        .catch((error: unknown) => logger.debug({ reason: databaseReason(error) }, 'A poll failed'))
        .finally(pollLater)
    })
  }

  async function poll(): Promise<void> {
    if (!membership.mayBegin()) return
    await watches.poll()
    await readers.run({ text: forget(names.schema) })
  }

  return {
    async join(serving, hears) {
      listener = hears
      isLeft = false
      watches.open()
      await membership.join(serving, hears)
      pollLater()
    },
    serve: (serving) => membership.serve(serving),
    get replica() {
      return membership.replica
    },
    get replicas() {
      return membership.replicas
    },
    get offsetMs() {
      return membership.offsetMs
    },
    mayBegin: () => membership.mayBegin(),
    settled: () => membership.settled(),
    held: (agent) => heldBy(parts, membership.replica, agent),
    ...inboxes,
    watch: (taskId) => watches.watch(taskId),
    unwatch: (taskId) => watches.unwatch(taskId),
    wakeDeliveries: createWake({ ...parts, replica }),
    release: (agent) => membership.release(agent),
    async leave() {
      isLeft = true
      callOff()
      watches.close()
      await membership.leave()
    },
    facts: () => readFacts(names, readers, membership.replica),
  }
}

async function heldBy(
  { names, readers }: FeedParts,
  replica: number,
  agent: string,
): Promise<readonly HeldTask[]> {
  // What was released has this number, and is nobody's.
  if (replica === 0) return []
  const text = `SELECT id, mail FROM ${names.schema}.task WHERE replica = $1 AND agent = $2`
  const rows = await readers.read({ name: 'held', text, values: [replica, agent] })
  return rows.map(({ id, mail }) => ({ id: String(id), mail: Number(mail) }))
}

function mustHold({ leaseMs, beatMs }: FeedParts): void {
  const least = 2 * beatMs + 100
  if (!(leaseMs >= least))
    throw new RangeError(`leaseMs is ${leaseMs}; with beatMs ${beatMs} it must be ${least} or more`)
}

/** Registrations that nobody needs any more: long over, and without anything that somebody would have to take on. */
function forget(schema: string): string {
  return `DELETE FROM ${schema}.replica r WHERE alive_until < clock_timestamp() - interval '1 minute'
    AND NOT EXISTS (SELECT 1 FROM ${schema}.task t WHERE t.replica = r.number)
    AND NOT EXISTS (SELECT 1 FROM ${schema}.push p WHERE p.replica = r.number)`
}
