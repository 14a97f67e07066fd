import { backoffMs, retry } from '../../shared/async.ts'
import { toHead, toPushConfig } from '../documents.ts'
import type { ClaimRequest, Store } from '../store.ts'
import {
  type DatabaseRow,
  isCollision,
  liveAndDead,
  liveReplicas,
  type Names,
  type SqlStatement,
  toDatabaseError,
} from './connection.ts'
import type { OpenDatabase } from './links.ts'
import { headColumnsOf, ownTask, toldTo } from './rows.ts'

/** What claims need of an open database. */
type ClaimDatabase = Pick<
  OpenDatabase,
  'names' | 'forwarding' | 'replica' | 'clock' | 'foreignBuildAfterMs'
>

/** Claims tasks and deliveries that no living replica has. A process without a registration looks, and takes nothing. */
export function createClaims(db: ClaimDatabase): Pick<Store, 'claim' | 'claimDeliveries'> {
  const { names, forwarding: readers, replica, clock } = db
  const open = createOpenBuilds(db)
  const texts = textsIn(names)
  /** Lost answers are found again by reading what this replica owns; so only what met another statement is repeated. */
  const ask = async (statement: SqlStatement): Promise<readonly DatabaseRow[]> => {
    if (replica() === 0) return readers.read(statement)
    try {
      return await retry(() => readers.run(statement), {
        delay: (error, failures) =>
          isCollision(error) && failures < maxCollisions ? backoffMs(failures, backoff) : undefined,
        clock,
      })
    } catch (error) {
      throw toDatabaseError('write', error)
    }
  }
  return {
    async claim(wanted = {}) {
      const { agent = null, build, limit = null, after } = wanted
      const builds = build === undefined ? null : await open(wanted)
      if (builds?.length === 0) return []
      const place = [after?.timestamp ?? '', after?.id ?? '']
      const [name, text] = replica() === 0 ? ['look', texts.look] : ['claim', texts.claim]
      const values = [replica(), agent, builds, limit, ...place]
      return (await ask({ name, text, values })).map(toHead)
    },
    async claimDeliveries(taskId) {
      const text = texts.deliveries(replica() !== 0, taskId !== undefined)
      const values = taskId === undefined ? [replica()] : [replica(), taskId]
      return (await ask({ text, values })).map(toPushConfig)
    },
  }
}

/** How often a claim is repeated that met another statement. */
const maxCollisions = 10

const backoff = { baseMs: 5, maxMs: 200 }

/**
 * Finds the orphaned builds of an agent that may be claimed by a process with a build of its own; none where nothing is
 * orphaned. It looks before anything is claimed: all agents of a process ask at once, and most have nothing to claim.
 * Remembers since when tasks of other definitions wait for a replica that has them; what no longer waits is forgotten.
 */
function createOpenBuilds(db: ClaimDatabase): (wanted: ClaimRequest) => Promise<readonly string[]> {
  const { clock, foreignBuildAfterMs } = db
  const text = orphanedIn(db.names)
  let seen = new Map<string, number>()
  let asked: Promise<readonly OrphanedBuild[]> | undefined

  async function look(): Promise<readonly OrphanedBuild[]> {
    const rows = (await db.forwarding.read({ name: 'orphaned', text })).map(
      (row): OrphanedBuild => {
        const { agent, build, served } = row
        return { agent: String(agent), build: String(build), isServed: served === true }
      },
    )
    const now = clock.elapsed()
    const waiting = rows.filter(({ isServed }) => !isServed).map(keyOf)
    seen = new Map(waiting.map((key) => [key, seen.get(key) ?? now]))
    return rows
  }

  /** Callers of the same moment share one look, which begins after all of them have asked. */
  function lookTogether(): Promise<readonly OrphanedBuild[]> {
    asked ??= Promise.resolve().then(() => {
      asked = undefined
      return look()
    })
    return asked
  }

  function isOpen(orphaned: OrphanedBuild, own: string | undefined): boolean {
    if (orphaned.build === own || orphaned.build === '') return true
    if (orphaned.isServed || foreignBuildAfterMs === 'fail') return false
    const since = seen.get(keyOf(orphaned))
    return since !== undefined && clock.elapsed() - since >= foreignBuildAfterMs
  }

  return async ({ agent, build }) => {
    const rows = await lookTogether()
    const ofAgent = rows.filter((row) => agent === undefined || row.agent === agent)
    return ofAgent.filter((row) => isOpen(row, build)).map((row) => row.build)
  }
}

/** Tasks of an agent's definition that no replica runs. */
interface OrphanedBuild {
  readonly agent: string
  readonly build: string
  /** Whether a living replica has the definition. */
  readonly isServed: boolean
}

function keyOf({ agent, build }: OrphanedBuild): string {
  return `${agent} ${build}`
}

/** Tasks that no replica runs, though there is work left: found by the numbers of the dead, in the index of what runs. */
const orphaned = 't.replica IS NOT NULL AND t.replica = ANY (ARRAY(SELECT number FROM dead))'

function orphanedIn(names: Names): string {
  const { schema } = names
  return `WITH RECURSIVE ${liveAndDead(names, 'task')}
    SELECT t.agent, t.build, EXISTS (SELECT 1 FROM ${schema}.replica r, unnest(r.agents, r.builds) AS s(agent, build)
        WHERE r.number IN (SELECT number FROM live) AND s.agent = t.agent AND s.build = t.build) AS served
    FROM (SELECT DISTINCT t.agent, t.build FROM ${schema}.task t WHERE ${orphaned}) t`
}

function textsIn(names: Names) {
  const { schema } = names
  const live = `live AS MATERIALIZED (${liveReplicas(names)})`
  const dead = liveAndDead(names, 'task')
  const wanted = `${orphaned} AND coalesce($2::text, t.agent) = t.agent
    AND ($3::text[] IS NULL OR t.build = ANY ($3::text[])) AND (t.timestamp, t.id) > ($5::text, $6::text)
    ORDER BY t.timestamp, t.id LIMIT $4::int`
  const at = `to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  const record = `json_build_array(json_build_object('seq', version, 'kind', 'claim', 'by', $1::int, 'at', ${at}))`
  return {
    look: `WITH RECURSIVE ${dead} SELECT ${headColumnsOf} FROM ${schema}.task t WHERE $1::int = 0 AND ${wanted}`,
    // The claim is a record of the log: the version moves, so that the former owner can write nothing more.
    claim: `WITH RECURSIVE ${dead},
      orphan AS (SELECT t.id FROM ${schema}.task t WHERE ${wanted} FOR UPDATE OF t SKIP LOCKED),
      mine AS (UPDATE ${schema}.task t SET replica = $1::int, version = t.version + 1,
          watchers = ARRAY(SELECT w FROM unnest(t.watchers) AS w WHERE w IN (SELECT number FROM live))
        FROM orphan o WHERE t.id = o.id RETURNING t.*),
      logged AS (INSERT INTO ${schema}.log SELECT id, version, ${record}::text FROM mine),
      ${toldTo('mine', names)}
      SELECT ${headColumnsOf} FROM mine t WHERE (SELECT count(*) FROM told) >= 0 ORDER BY t.timestamp, t.id`,
    deliveries: (takes: boolean, ofTask: boolean): string => {
      const free = `(p.replica IS NULL OR p.replica = $1::int OR p.replica <> ALL (ARRAY(SELECT number FROM live)))`
      const behind = `p.cursor < t.version AND ${free} AND ${ofTask ? 'p.task_id = $2::text' : 'NOT p.done'}`
      const found = `SELECT p.number, p.cursor, p.record FROM ${schema}.push p
        CROSS JOIN LATERAL ${ownTask(schema)} t WHERE ${behind} ORDER BY p.number`
      if (!takes) return `WITH ${live}, found AS (${found}) SELECT cursor, record FROM found`
      // A look at all of them waits for none: the next look finds what is being written now.
      const locked = `${found} FOR UPDATE OF p ${ofTask ? '' : 'SKIP LOCKED'}`
      return `WITH ${live}, found AS (${locked}),
        mine AS (UPDATE ${schema}.push p SET replica = $1::int, done = false FROM found
          WHERE p.number = found.number RETURNING p.number, p.cursor, p.record)
        SELECT cursor, record FROM mine ORDER BY number`
    },
  }
}
