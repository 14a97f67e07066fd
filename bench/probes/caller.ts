/**
 * What a call costs the caller, in a process of its own: `caller.ts <corral|undici> <port>`.
 * Told how many calls, makes them eight at a time and tells the CPU time of each.
 */
import { Pool } from 'undici'
import { dist } from '../processes.ts'
import { workloadOf } from '../workloads.ts'

const [caller = '', port = ''] = process.argv.slice(2)
const url = `http://127.0.0.1:${port}`
const text = 'hello there'
const expected = 'Echo: hello there'
const call = caller === 'corral' ? await createCorral() : createUndici()

process.on('message', (calls: number) => {
  void run(calls).then((cpuMicros) => process.send?.({ cpuMicros }))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function run(calls: number): Promise<number> {
  let left = calls
  const before = process.cpuUsage()
  async function work(): Promise<void> {
    while (left-- > 0) if ((await call()) !== expected) throw new Error('A wrong answer')
  }
  await Promise.all(Array.from({ length: 8 }, work))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}

/** The client as everyone uses it: a URL, from which it finds the card. */
async function createCorral(): Promise<() => Promise<string | undefined>> {
  const { A2AClient } = await dist<typeof import('../../src/client/index.ts')>('client')
  const client = new A2AClient(url)
  return async () => {
    const answer = await client.sendMessage(text)
    const part = 'task' in answer && answer.task.artifacts?.[0]?.parts[0]
    return part && 'text' in part ? part.text : undefined
  }
}

/** The same bytes through the HTTP client alone. */
function createUndici(): () => Promise<string | undefined> {
  const pool = new Pool(url)
  const { path } = workloadOf('task')
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    'a2a-version': '1.0',
  }
  let id = 0
  return async () => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
    const request = { jsonrpc: '2.0', id: ++id, method: 'SendMessage', params: { message } }
    const body = JSON.stringify(request)
    const reply = await pool.request({ path, method: 'POST', headers, body })
    return JSON.parse(await reply.body.text()).result.task.artifacts[0].parts[0].text
  }
}
