import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { serveTeam } from './team.ts'

const program = `import requests

response = requests.post(
    "http://localhost:3000/rpc",
    json={
        "jsonrpc": "2.0",
        "method": "message/send",
        "params": {
            "message": {
                "role": "user",
                "parts": [{"type": "text", "text": "Hello"}]
            }
        },
        "id": 1
    }
)

result = response.json()
print(result["result"])
`

/** What the program uses of \`requests\`, for machines that do not have it. */
const requests = `import json as j, urllib.request

class Response:
    def __init__(self, body): self.body = body
    def json(self): return j.loads(self.body)

def post(url, json):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, j.dumps(json).encode(), headers)
    return Response(urllib.request.urlopen(request).read())
`

const run = promisify(execFile)

async function hasRequests(): Promise<boolean> {
  return run('python3', ['-c', 'import requests']).then(
    () => true,
    () => false,
  )
}

test('AT-8: the Python program of 004 prints the answer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'corral-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  if (!(await hasRequests())) await writeFile(join(folder, 'requests.py'), requests)
  const { host } = new URL(await serveTeam((text) => `${text}, you`))
  const file = join(folder, 'client.py')
  await writeFile(file, program.replace('localhost:3000', host))
  const { stdout } = await run('python3', [file])
  expect(stdout.trim()).toBe(
    "{'message': {'role': 'agent', 'parts': [{'type': 'text', 'text': 'Hello, you'}]}}",
  )
})
