import { type Command, InvalidArgumentError } from 'commander'
import {
  backupSqliteStore,
  copyStore,
  createStoreKeeper,
  type StoreKeeper,
} from '../../store/index.ts'
import type { StoreCounts, StoreFacts } from '../../store/keeper.ts'
import { isPostgresUrl } from '../../store/postgres/connection.ts'
import { addCommand, exits, mustDumpInstead, schemaHelp, schemaOf, toCount } from '../command.ts'
import { CliError } from '../errors.ts'
import { stderr, stdout } from '../screen.ts'
import { toColumns } from '../transcript.ts'

/** Adds `corral store info|prune|migrate|copy`. */
export function addStoreCommand(program: Command): void {
  const store = program.command('store').description('look after a task store')
  addCommand(store, {
    usage: 'info <store>',
    description: 'show what is in a store, also while servers use it',
    examples: ['corral store info .corral/tasks.db', 'corral store info postgres://db/corral'],
  })
    .option('--schema <name>', schemaHelp)
    .action(exits(infoCommand))
  addCommand(store, {
    usage: 'prune <store>',
    description:
      'drop finished tasks that are over the limits; a file only while no server uses it',
    examples: ['corral store prune .corral/tasks.db --max-age-days 90'],
  })
    .option('--max-age-days <n>', 'finished tasks that are older', toDays)
    .option('--max-tasks <n>', 'finished tasks beyond the newest so many', toCount)
    .option('--waiting-days <n>', 'tasks that have waited for their user for longer', toDays)
    .option('--schema <name>', schemaHelp)
    .action(exits(pruneCommand))
  addCommand(store, {
    usage: 'migrate <store>',
    description: 'bring a store to the schema of this version, before servers of it start',
    examples: ['corral store migrate postgres://db/corral'],
  })
    .option('--schema <name>', schemaHelp)
    .action(exits(migrateCommand))
  addCopyCommand(store)
}

interface StoreFlags {
  readonly schema?: string
  readonly json?: boolean
}

async function infoCommand(place: string, flags: StoreFlags): Promise<number> {
  const keeper = createStoreKeeper(place, schemaOf(flags))
  const facts = await keeper.facts()
  stdout.write(
    flags.json
      ? `${JSON.stringify({ store: keeper.name, ...facts }, null, 2)}\n`
      : `${toColumns(factRows(keeper, facts))}\n`,
  )
  return 0
}

function factRows({ name }: StoreKeeper, facts: StoreFacts): readonly (readonly string[])[] {
  const { kind, schema, knownSchema, bytes, states, counts } = facts
  const newest = schema === knownSchema ? '' : `, this version has ${knownSchema}`
  return [
    ['store', `${name} (${kind})`],
    ['schema', `${schema}${newest}`],
    ['size', `${(bytes / 1024 / 1024).toFixed(1)} MiB`],
    ...countRows(counts),
    ...Object.entries(states).map(([state, tasks]) => [
      `  ${state.replace('TASK_STATE_', '').toLowerCase()}`,
      String(tasks),
    ]),
  ]
}

/** What each count is called. */
const countNames: Readonly<Record<keyof StoreCounts, string>> = {
  tasks: 'tasks',
  records: 'log records',
  keys: 'idempotency keys',
  contextValues: 'context values',
  webhooks: 'webhooks',
  deadLetters: 'dead letters',
}

function countRows(...counts: readonly StoreCounts[]): readonly (readonly string[])[] {
  return namesOfCounts().map((name) => [
    countNames[name],
    ...counts.map((one) => String(one[name])),
  ])
}

function namesOfCounts(): readonly (keyof StoreCounts)[] {
  return Object.keys(countNames) as (keyof StoreCounts)[] // the keys of its type, and no others
}

function toDays(text: string): number {
  const days = Number(text)
  if (!(days > 0)) throw new InvalidArgumentError('It is a number of days above 0.')
  return days
}

interface PruneFlags extends StoreFlags {
  readonly maxAgeDays?: number
  readonly maxTasks?: number
  readonly waitingDays?: number
}

const dayMs = 86_400_000

async function pruneCommand(place: string, flags: PruneFlags): Promise<number> {
  const { maxAgeDays, maxTasks, waitingDays } = flags
  const limits = {
    ...(maxTasks !== undefined && { maxTasks }),
    ...(maxAgeDays !== undefined && { maxAgeMs: maxAgeDays * dayMs }),
    ...(waitingDays !== undefined && { maxWaitingMs: waitingDays * dayMs }),
  }
  if (Object.keys(limits).length === 0)
    throw new CliError('Which tasks may go?', {
      hint: 'Say --max-age-days N, --max-tasks N or --waiting-days N.',
    })
  const keeper = createStoreKeeper(place, schemaOf(flags))
  const dropped = await keeper.prune(limits)
  stdout.write(
    flags.json
      ? `${JSON.stringify({ store: keeper.name, dropped })}\n`
      : `${dropped} tasks dropped from ${keeper.name}\n`,
  )
  return 0
}

async function migrateCommand(place: string, flags: StoreFlags): Promise<number> {
  const keeper = createStoreKeeper(place, schemaOf(flags))
  const { from, to } = await keeper.migrate()
  const words = from === to ? `has schema ${to} already` : `has schema ${to} now, had ${from}`
  stdout.write(
    flags.json
      ? `${JSON.stringify({ store: keeper.name, from, to })}\n`
      : `${keeper.name} ${words}\n`,
  )
  return 0
}

function addCopyCommand(store: Command): void {
  addCommand(store, {
    usage: 'copy <from> <to>',
    description: 'copy everything into another store, while no server uses either; again to go on',
    examples: [
      'corral store copy .corral/tasks.db postgres://db/corral',
      'corral store copy postgres://db/corral tasks.db',
    ],
  })
    .option('--schema <name>', `${schemaHelp}; of both, where both are`)
    .option('--to-schema <name>', 'the schema of the second, where it has another')
    .action(exits(copyCommand))
}

interface CopyFlags extends StoreFlags {
  readonly toSchema?: string
}

async function copyCommand(fromPlace: string, toPlace: string, flags: CopyFlags): Promise<number> {
  const { schema, toSchema = schema, json } = flags
  const from = createStoreKeeper(fromPlace, schemaOf(flags))
  const to = createStoreKeeper(toPlace, { ...(toSchema !== undefined && { schema: toSchema }) })
  if (fromPlace === toPlace && schema === toSchema)
    throw new CliError('The two stores are one', { hint: 'Name another one to copy to.' })
  await from.facts()
  await mustBeQuiet(from)
  await to.migrate().catch(ignoreMissingFile)
  await mustBeQuiet(to)
  const done = await copyStore(from, to, { progress: json ? () => {} : tellEvery(1_000) })
  const [here, there] = [(await from.facts()).counts, (await to.facts()).counts]
  const same = namesOfCounts().every((name) => here[name] === there[name])
  const result = { from: from.name, to: to.name, copied: done.copied, same }
  if (json) stdout.write(`${JSON.stringify({ ...result, counts: { from: here, to: there } })}\n`)
  else {
    const rows = [['', 'FROM', 'TO'], ...countRows(here, there)]
    const words = same
      ? 'Both hold the same.'
      : `They differ: ${to.name} held other tasks before, or ${from.name} was written meanwhile.`
    stdout.write(`${toColumns(rows)}\n${done.copied} tasks copied. ${words}\n`)
  }
  return same ? 0 : 1
}

/** Whoever is served from a store changes it, and what waits in an inbox is not in any log yet. */
async function mustBeQuiet(keeper: StoreKeeper): Promise<void> {
  const cluster = await keeper.cluster().catch((error: unknown) => ignoreMissingFile(error))
  if (!cluster) return
  const alive = cluster.members.filter((member) => member.alive)
  if (alive.length > 0)
    throw new CliError(`${alive.length} replicas use ${keeper.name}`, {
      hint: `Stop them first: ${alive.map(({ name }) => name).join(', ')}.`,
    })
  if (cluster.inbox > 0)
    throw new CliError(`${cluster.inbox} messages in ${keeper.name} wait to be taken into a log`, {
      hint: 'Start one replica for a moment: it takes them.',
    })
}

/** A file that is not there yet is made by the copy. */
function ignoreMissingFile(error: unknown): void {
  if (!(error instanceof Error && error.message.startsWith('There is no task store'))) throw error
}

function tellEvery(
  step: number,
): (progress: { readonly tasks: number; readonly total: number }) => void {
  let told = 0
  return ({ tasks, total }) => {
    if (tasks - told < step) return
    told = tasks
    stderr.write(`${tasks} of ${total} tasks\n`)
  }
}

/** Adds `corral backup`. */
export function addBackupCommand(program: Command): void {
  addCommand(program, {
    usage: 'backup <store> <target>',
    description: 'copy a task store as it is at this moment, also while a server uses it',
    examples: ['corral backup .corral/tasks.db backups/tasks.db'],
  }).action(exits(backupCommand))
}

async function backupCommand(
  store: string,
  target: string,
  { json }: { readonly json?: boolean },
): Promise<number> {
  if (isPostgresUrl(store)) mustDumpInstead(store, target)
  await backupSqliteStore(store, target)
  stdout.write(
    json ? `${JSON.stringify({ store, target })}\n` : `${store} is copied to ${target}\n`,
  )
  return 0
}
