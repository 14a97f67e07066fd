import type { Command } from 'commander'
import { createEchoAgent } from '../../agents/index.ts'
import { createServer, type Server } from '../../server/index.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { createStoreKeeper, type StoreKeeper } from '../../store/index.ts'
import { addCommand, collect, exits, schemaHelp, schemaOf } from '../command.ts'
import { CliError } from '../errors.ts'
import { stdout } from '../screen.ts'
import { toColumns } from '../transcript.ts'

/** Adds `corral webhooks list|redrive`. */
export function addWebhooksCommand(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('list and redrive webhook deliveries that were given up')
  addCommand(webhooks, {
    usage: 'list <store>',
    description: 'list deliveries that were given up, the newest first',
    examples: ['corral webhooks list .corral/tasks.db'],
  })
    .option('--schema <name>', schemaHelp)
    .action(exits(listCommand))
  addCommand(webhooks, {
    usage: 'redrive <store> [ids...]',
    description: 'attempt given-up deliveries once more; of a file while no server uses it',
    examples: [
      'corral webhooks redrive .corral/tasks.db 1b9d…',
      'corral webhooks redrive .corral/tasks.db --all --allow hooks.internal',
    ],
  })
    .option('--all', 'all of them, the oldest first')
    .option('--allow <host>', 'a host or range of our own networks that may be reached', collect)
    .option('--allow-http', 'receivers without TLS')
    .option('--schema <name>', schemaHelp)
    .action(exits(redriveCommand))
}

interface WebhookFlags {
  readonly schema?: string
  readonly json?: boolean
}

async function listCommand(place: string, { json, ...flags }: WebhookFlags): Promise<number> {
  const letters = await createStoreKeeper(place, schemaOf(flags)).deadLetters()
  if (json) stdout.write(`${JSON.stringify(letters, null, 2)}\n`)
  else if (letters.length === 0) stdout.write('No delivery was given up\n')
  else {
    const rows = letters.map(({ id, taskId, at, attempts, reason }) => [
      id,
      taskId,
      at,
      String(attempts),
      reason,
    ])
    stdout.write(`${toColumns([['ID', 'TASK', 'AT', 'ATTEMPTS', 'REASON'], ...rows])}\n`)
  }
  return 0
}

interface RedriveFlags extends WebhookFlags {
  readonly all?: boolean
  readonly allow?: readonly string[]
  readonly allowHttp?: boolean
}

/** What came of one more attempt. */
interface Redriven {
  readonly id: string
  /** `delivered`; `refused` for good; `retry` where a later attempt may go better. */
  readonly outcome: string
  readonly reason?: string
}

async function redriveCommand(
  place: string,
  ids: readonly string[],
  flags: RedriveFlags,
): Promise<number> {
  const keeper = createStoreKeeper(place, schemaOf(flags))
  const known = await keeper.deadLetters()
  const wanted = flags.all ? known.map(({ id }) => id).reverse() : ids
  if (!flags.all && wanted.length === 0)
    throw new CliError('Which deliveries?', {
      hint: `"corral webhooks list ${keeper.name}" shows them; --all takes all.`,
    })
  const outcomes = await withWebhooks(keeper, flags, async (webhooks) => {
    const done: Redriven[] = []
    for (const id of wanted) {
      const { kind, ...why } = await webhooks.redrive(id)
      done.push({ id, outcome: kind, ...('reason' in why && { reason: why.reason }) })
    }
    return done
  })
  const words = outcomes.map(toWords).join('\n')
  stdout.write(`${flags.json ? JSON.stringify(outcomes, null, 2) : words}\n`)
  return outcomes.every(({ outcome }) => outcome === 'delivered') ? 0 : 1
}

/** A server that serves nobody: deliveries are made by the same rules as those of `corral serve`. */
async function withWebhooks<T>(
  keeper: StoreKeeper,
  { allow, allowHttp }: RedriveFlags,
  work: (webhooks: NonNullable<Server['webhooks']>) => Promise<T>,
): Promise<T> {
  // Without its feed: it is no replica, and takes on nothing.
  const { feed: _, ...store } = await keeper.open()
  const guard = { ...(allow && { allow }), ...(allowHttp !== undefined && { allowHttp }) }
  const server = await createServer({
    agents: [createEchoAgent()],
    store,
    pushNotifications: { guard },
  })
  try {
    if (!server.webhooks) throw new CliError('Webhooks are off')
    return await work(server.webhooks)
  } finally {
    await server.close()
    await store.close()
  }
}

function toWords({ id, outcome, reason }: Redriven): string {
  return toPrintableLine(`${id} ${outcome}${reason === undefined ? '' : `: ${reason}`}`)
}
