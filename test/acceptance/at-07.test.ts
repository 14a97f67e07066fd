import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { serveTeam } from './team.ts'

const curl = `curl -X POST http://localhost:3000/rpc \\
  -H "Content-Type: application/json" \\
  -d '{
    "jsonrpc": "2.0",
    "method": "agent/card",
    "params": {},
    "id": 1
  }'`

test('AT-7: the curl command of 004 gets the card', async () => {
  const { host } = new URL(await serveTeam(() => 'hello'))
  const command = curl.replace('localhost:3000', host)
  const { stdout } = await promisify(execFile)('sh', ['-c', command])
  expect(JSON.parse(stdout)).toMatchObject({
    jsonrpc: '2.0',
    result: { agent_id: 'team', name: 'Team' },
    id: 1,
  })
})
