import type { Command } from 'commander'
import { readUrl } from '../../shared/text.ts'
import type { ClusterFacts } from '../../store/feed.ts'
import { createStoreKeeper } from '../../store/index.ts'
import { isPostgresUrl } from '../../store/postgres/connection.ts'
import { addCommand, collect, exits, readSecret, schemaHelp, schemaOf } from '../command.ts'
import { CliError, nobodyThere } from '../errors.ts'
import { stdout } from '../screen.ts'
import { toColumns } from '../transcript.ts'

/** Adds `corral cluster status`. */
export function addClusterCommand(program: Command): void {
  const cluster = program
    .command('cluster')
    .description('look at the replicas that share a PostgreSQL database')
  addCommand(cluster, {
    usage: 'status <url>',
    description: 'show the replicas and what waits for them, by a server or by the database itself',
    examples: [
      'corral cluster status http://localhost:3000 --bearer-token env:TOKEN',
      'corral cluster status postgres://db/corral --json',
    ],
  })
    .option('--bearer-token <token>', 'of a server; env:NAME or file:PATH reads it from there')
    .option('--header <name: value>', 'a further header for a server; may be repeated', collect)
    .option('--schema <name>', schemaHelp)
    .action(exits(statusCommand))
}

interface StatusFlags {
  readonly bearerToken?: string
  readonly header?: readonly string[]
  readonly schema?: string
  readonly json?: boolean
}

async function statusCommand(url: string, flags: StatusFlags): Promise<number> {
  const facts = isPostgresUrl(url)
    ? await createStoreKeeper(url, schemaOf(flags)).cluster()
    : await askServer(url, flags)
  if (!facts)
    throw new CliError(`${url} has its store to itself: there are no replicas`, {
      hint: 'Replicas share a PostgreSQL database: corral serve FILE --store postgres://…',
      exitCode: 1,
    })
  stdout.write(flags.json ? `${JSON.stringify(facts, null, 2)}\n` : `${toPage(facts)}\n`)
  return facts.members.some(({ alive }) => alive) ? 0 : 1
}

/** What `/health` says of the replicas to those whom the server knows. */
async function askServer(url: string, flags: StatusFlags): Promise<ClusterFacts | undefined> {
  const health = await readHealth(url, await headersOf(flags))
  if (typeof health !== 'object' || health === null || !('protocol' in health))
    throw new CliError(`${url} is no Corral server`, { hint: nobodyThere() })
  if (!('store' in health))
    throw new CliError(`${url} tells that only to those whom it knows`, {
      hint: 'Give credentials with --bearer-token, or --header "X-API-Key: …".',
      exitCode: 1,
    })
  // What a Corral server writes under this name.
  return 'cluster' in health ? (health.cluster as ClusterFacts) : undefined
}

async function readHealth(url: string, headers: Headers): Promise<unknown> {
  if (!/^https?:\/\//.test(url) || !readUrl(url))
    throw new CliError(`"${url}" is no URL`, {
      hint: 'Write it as http://localhost:3000, or as postgres://host/database.',
    })
  try {
    const signal = AbortSignal.timeout(10_000)
    const reply = await fetch(`${url.endsWith('/') ? url.slice(0, -1) : url}/health`, {
      headers,
      signal,
    })
    return await reply.json()
  } catch (cause) {
    throw new CliError(`${url} does not say how it is`, { hint: nobodyThere(), cause })
  }
}

async function headersOf({ bearerToken, header = [] }: StatusFlags): Promise<Headers> {
  const headers = new Headers()
  const token = await readSecret(bearerToken)
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  for (const line of header) {
    const cut = line.indexOf(':')
    if (cut < 1)
      throw new CliError(`"${line}" is no header`, { hint: 'Write it as "Name: value".' })
    headers.set(line.slice(0, cut).trim(), line.slice(cut + 1).trim())
  }
  return headers
}

function toPage({ replica, members, orphans, inbox, synchronousStandby }: ClusterFacts): string {
  const rows = members.map(({ number, name, alive, leaseMs, tasks, agents }) => [
    `${number}${number === replica ? ' *' : ''}`,
    name,
    alive ? 'yes' : 'no',
    `${(leaseMs / 1000).toFixed(1)} s`,
    String(tasks),
    agents.map(({ agent, build }) => `${agent}@${build.slice(0, 7)}`).join(' '),
  ])
  const sums = [
    ['tasks that nobody runs', String(orphans)],
    ['messages on their way', String(inbox)],
    [
      'synchronous standby',
      synchronousStandby ? 'yes' : 'no: a failover may lose the last commits',
    ],
  ]
  const head = ['REPLICA', 'NAME', 'ALIVE', 'LEASE', 'TASKS', 'AGENTS']
  const table = members.length > 0 ? toColumns([head, ...rows]) : 'No replicas'
  return `${table}\n\n${toColumns(sums)}`
}
