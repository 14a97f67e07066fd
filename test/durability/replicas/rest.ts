import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import type { Ledger } from '../ledger.ts'
import type { Ground } from './ground.ts'

const settleMs = 300_000

/** Waits until every caller is done and the replicas have nothing left to do. */
export async function settle(
  ground: Ground,
  ledger: Ledger,
  working: Promise<unknown>,
): Promise<void> {
  const { url, schema } = ground.setup.postgres ?? {}
  const client = new Client({ connectionString: url })
  await client.connect()
  const deadline = Date.now() + settleMs
  let callersDone = false
  void working.then(() => (callersDone = true))
  try {
    for (;;) {
      const left = await leftIn(ground, client, String(schema))
      if (callersDone && left.tasks.length + left.webhooks.length === 0) return
      if (Date.now() > deadline) {
        ledger.violation(`It does not settle: ${JSON.stringify({ callersDone, left })}`)
        return
      }
      await setTimeout(250)
    }
  } finally {
    await client.end()
  }
}

/** Tasks that somebody has to go on with, and those with webhooks that have not seen every event. */
async function leftIn(
  { store }: Ground,
  client: Client,
  schema: string,
): Promise<{ readonly tasks: readonly string[]; readonly webhooks: readonly string[] }> {
  const tasks = await client.query<{ id: string }>(
    `SELECT id FROM ${schema}.task WHERE replica IS NOT NULL`,
  )
  const behind = await client.query<{ task_id: string; cursor: number }>(
    `SELECT p.task_id, p.cursor FROM ${schema}.push p JOIN ${schema}.task t ON t.id = p.task_id
     WHERE NOT p.done AND p.cursor < t.version`,
  )
  const webhooks: string[] = []
  for (const { task_id: id, cursor } of behind.rows) {
    const records = await store.records(id, cursor)
    if (records.some(({ kind }) => kind === 'event')) webhooks.push(id)
  }
  return { tasks: tasks.rows.map(({ id }) => id), webhooks }
}
