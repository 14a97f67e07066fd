import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { A2AClient } from 'corral/client'

test('an order goes on after kill -9, and nobody is charged twice', async () => {
  const place = mkdtempSync(join(tmpdir(), 'orders-'))
  const env = { LEDGER: join(place, 'ledger.txt'), STORE: join(place, 'tasks.db'), PORT: '0' }

  const first = await start({ ...env, HOLD: '1' })
  const configuration = { returnImmediately: true }
  const sent = await first.client.sendMessage('Two chairs', { configuration })
  await first.prints('packing')
  await first.end('SIGKILL')

  const second = await start(env)
  const task = await second.client.pollUntilComplete(sent.task.id, { intervalMs: 50 })
  await second.end('SIGTERM')

  assert.equal(task.status.state, 'TASK_STATE_COMPLETED')
  const ledger = readFileSync(env.LEDGER, 'utf8').trim().split('\n')
  assert.deepEqual(ledger, ['charged', 'packing', 'packing', 'packed'])
})

async function start(env) {
  const program = fileURLToPath(new URL('orders.mjs', import.meta.url))
  const stdio = ['ignore', 'pipe', 'inherit']
  const child = spawn(process.execPath, [program], { env: { ...process.env, ...env }, stdio })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const prints = async (words) => {
    for (;;) {
      const { value, done } = await lines.next()
      if (done) throw new Error(`It ended before it printed "${words}"`)
      if (value.includes(words)) return value
    }
  }
  const line = await prints('http://')
  const client = new A2AClient(line.slice(line.indexOf('http://')))
  const end = async (signal) => {
    child.kill(signal)
    await once(child, 'exit')
    await client.close()
  }
  return { client, prints, end }
}
