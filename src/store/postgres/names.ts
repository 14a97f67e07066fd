/**
 * What the replicas of one database call things. All tables stand in one schema; so do, by their names, the channels on
 * which replicas are told things and the locks that say who lives, so that several stores fit into one database.
 *
 * A notice is JSON: `{"grown":[[id,version],…]}`, `{"mail":[id,agent]}` or `{"deliveries":id}` on a replica's own channel,
 * `{"orphans":true}` on the channel of all.
 */
export interface Names {
  /** The schema, as SQL writes it before a table. */
  readonly schema: string
  /** The channel of all replicas; that of one has an underscore and its number behind it. */
  readonly channel: string
  /** The first number of the session locks, whose second is a replica's. */
  readonly lockClass: number
}

/** The most that a notice may take; PostgreSQL ends at 8,000 bytes. */
export const maxNoticeBytes = 7_900

const pattern = /^[a-z_][a-z0-9_]{0,39}$/

/**
 * The names within a schema.
 * @throws Error for a schema whose name would have to be quoted, or is too long for a channel's.
 */
export function namesIn(schema: string): Names {
  if (!pattern.test(schema))
    throw new Error(
      `the schema ${JSON.stringify(schema)} is not a name of at most 40 small letters, digits and underscores`,
    )
  return { schema, channel: schema, lockClass: lockClassOf(schema) }
}

/** The numbers of the replicas that live, by the database's clock: their lease holds, and their session holds its lock. */
export function liveReplicas({ schema, lockClass }: Names): string {
  return `SELECT r.number FROM ${schema}.replica r WHERE r.alive_until > clock_timestamp() AND EXISTS (
    SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = ${lockClass} AND l.objid = r.number::oid
    AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))`
}

/** Locks are the whole database's, so each schema has a class of its own. */
function lockClassOf(schema: string): number {
  if (schema === 'corral') return 4207
  let hash = 0x811c9dc5
  for (const character of schema)
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return (hash >>> 1) | 1
}
