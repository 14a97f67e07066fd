import type { AgentBuild, ClusterFacts, ReplicaFacts } from '../feed.ts'
import type { DatabaseRow } from './connection.ts'
import { liveReplicas, type Names } from './names.ts'
import type { Readers } from './readers.ts'

/** How the replicas of a database stand. */
export async function readFacts(
  names: Names,
  readers: Pick<Readers, 'read'>,
  replica: number,
): Promise<ClusterFacts> {
  const [members, [rest]] = await Promise.all([
    readers.read({ text: membersOf(names) }),
    readers.read({ text: restOf(names) }),
  ])
  return {
    replica,
    members: members.map(toMember),
    orphans: Number(rest?.orphans),
    inbox: Number(rest?.inbox),
    synchronousStandby: rest?.standby === true,
  }
}

function toMember(row: DatabaseRow): ReplicaFacts {
  const { number, name, alive, lease_ms, tasks } = row
  return {
    number: Number(number),
    name: String(name),
    agents: toServing(row),
    alive: alive === true,
    leaseMs: Math.round(Number(lease_ms)),
    tasks: Number(tasks),
  }
}

function toServing({ agents, builds }: DatabaseRow): readonly AgentBuild[] {
  if (!Array.isArray(agents) || !Array.isArray(builds)) return []
  return agents.map((agent, i) => ({ agent: String(agent), build: String(builds[i]) }))
}

function membersOf(names: Names): string {
  const { schema: s } = names
  return `WITH live AS (${liveReplicas(names)})
    SELECT number, name, agents, builds, number IN (SELECT number FROM live) AS alive,
      extract(epoch FROM alive_until - clock_timestamp())::float8 * 1000 AS lease_ms,
      (SELECT count(*) FROM ${s}.task t WHERE t.replica = r.number) AS tasks
    FROM ${s}.replica r ORDER BY number`
}

/** A commit waits for a standby where one is named and commits wait for more than this machine's disk. */
function restOf(names: Names): string {
  const { schema: s } = names
  return `WITH live AS (${liveReplicas(names)})
    SELECT (SELECT count(*) FROM ${s}.task WHERE replica IS NOT NULL AND replica NOT IN (SELECT number FROM live)) AS orphans,
      (SELECT count(*) FROM ${s}.inbox) AS inbox,
      current_setting('synchronous_standby_names') <> ''
        AND current_setting('synchronous_commit') NOT IN ('off', 'local') AS standby`
}
