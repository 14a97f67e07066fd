import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { A2AClient } from '../../../src/client/client.ts'
import { traceExtension } from '../../../src/protocol/extensions.ts'
import type { JsonObject, Task } from '../../../src/protocol/types.ts'
import { main, type Started, startProcess, temporary } from '../../cli/corral.ts'
import { cook, cookbook, withoutChance } from './recipe.ts'

const folder = join(cookbook, 'crash-resume')

test('a team that is killed while it packs goes on, and its ledger has every line once', async () => {
  const [program, file] = await Promise.all([orderAndKill(startProgram), orderAndKill(startFile)])
  const once = ['charged', 'labelled', 'packed', 'shipped']
  expect([program.ledger, file.ledger]).toEqual([once, once])
  expect(file.trace).toEqual(program.trace)
  const asked = program.trace.filter(({ type }) => type === 'delegation')
  expect(asked.map(({ member }) => member)).toEqual(['charge', 'pack', 'pack', 'ship'])
})

test('a team that nobody kills does the same', async () => {
  const run = await cook('crash-resume')
  expect(run.delegations.map(({ member }) => member)).toEqual(['charge', 'pack', 'ship'])
})

type Start = (env: Readonly<Record<string, string>>) => Started

/** Orders something, kills the server with -9 in the middle, and has another one go on. */
async function orderAndKill(start: Start) {
  const place = temporary()
  const env = { STORE: join(place, 'tasks.db'), LEDGER: join(place, 'ledger.txt'), PORT: '0' }
  const first = start({ ...env, PACKING_MS: '600000' })
  const id = await orderUntilPacking(await clientOf(first))
  first.signal('SIGKILL')
  await first.ended
  const second = start({ ...env, PACKING_MS: '0' })
  const client = await clientOf(second)
  for await (const _ of client.follow(id)); // to its end
  const task = await client.getTask(id)
  second.signal('SIGTERM')
  await second.ended
  expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  return { ledger: readFileSync(env.LEDGER, 'utf8').trim().split('\n'), trace: traceOf(task) }
}

/** The task's id, once it packs: the label has been printed, and that is in the log. */
async function orderUntilPacking(client: A2AClient): Promise<string> {
  for await (const event of client.sendMessageStream('Two chairs')) {
    if (!('statusUpdate' in event)) continue
    const { taskId, metadata } = event.statusUpdate
    if (JSON.stringify(metadata ?? {}).includes('"type":"packing"')) return taskId
  }
  throw new Error('it ended before it packed')
}

async function clientOf(server: Started): Promise<A2AClient> {
  const [url] = await server.seen(/http:\/\/[\w.]+:\d+/)
  return new A2AClient({ serverUrl: url, extensions: [traceExtension] })
}

function startProgram(env: Readonly<Record<string, string>>): Started {
  const args = ['--import', 'tsx', join(folder, 'serve.ts')]
  return startProcess(process.execPath, args, { env })
}

function startFile({ STORE = '', ...env }: Readonly<Record<string, string>>): Started {
  const file = join(folder, 'corral.toml')
  const args = ['--import', 'tsx', main, 'serve', file, '--port', '0', '--store', STORE]
  return startProcess(process.execPath, args, { env })
}

function traceOf({ metadata }: Task): readonly JsonObject[] {
  return withoutChance(metadata?.[traceExtension] as JsonObject[]) // its shape
}
