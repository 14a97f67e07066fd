/** What a client can be told. Nothing of it is needed. */
import { A2AClient, JsonRpcTransport } from 'corral/client'

const serverUrl = process.env.AGENT_URL ?? 'http://localhost:3000'

// #region options
const client = new A2AClient({
  serverUrl,
  headers: { 'x-department': 'sales' }, // with every request
  timeouts: { connectMs: 2_000, requestMs: 60_000, idleMs: 60_000 },
  retry: { maxRetries: 5, baseMs: 250, maxMs: 10_000 },
  bindings: ['HTTP+JSON'], // JSONRPC and HTTP+JSON if absent
  versions: ['1.0'], // 1.0 and 0.3 if absent
})
// #endregion options
console.log((await client.send('1 day')).text)
await client.close()

// #region ranch
const direct = new A2AClient(new JsonRpcTransport(`${serverUrl}/rpc`, { dialect: 'ranch' }))
console.log(await direct.run('1 day'))
// #endregion ranch
await direct.close()

// #region cancel
const caller = new A2AClient(serverUrl)
const { task } = await caller.sendMessage('60 days', { configuration: { returnImmediately: true } })
const { status } = await caller.cancelTask(task.id)
console.log(status.state)
const { tasks } = await caller.listTasks({ pageSize: 3 })
for (const { id, status } of tasks) console.log(id, status.state)
// #endregion cancel
await caller.close()
