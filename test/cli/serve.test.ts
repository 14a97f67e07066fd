import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { A2AClient } from '../../src/client/index.ts'
import type { SendMessageResponse, Task } from '../../src/index.ts'
import { ask as request } from '../server/asking.ts'
import { corral, createDoor, serve, start, temporary } from './corral.ts'
import { clerkAgent, writeFile } from './files.ts'

const team = (id: string, member: string) => `
[[teams]]
id = "${id}"
name = "Team ${id}"
description = "A team"
[teams.router_config]
default_agent_id = "${member}"
[[teams.agents]]
agent_id = "${member}"
`

function taskOf(response: SendMessageResponse): Task {
  if ('task' in response) return response.task
  throw new Error('The answer is a message')
}

async function begin(url: string, text: string): Promise<Task> {
  const client = new A2AClient(url)
  const configuration = { returnImmediately: true }
  const task = taskOf(await client.sendMessage(text, { configuration }))
  await client.close()
  return task
}

async function ask(url: string, text: string): Promise<string> {
  const client = new A2AClient(url)
  try {
    return await client.run(text)
  } finally {
    await client.close()
  }
}

async function cardOf(url: string): Promise<{ name: string }> {
  return (await fetch(`${url}/.well-known/agent-card.json`)).json()
}

describe('corral serve', () => {
  test('serves the first team at the root, or the one that is named, and all under /agents', async () => {
    const file = writeFile(temporary(), clerkAgent() + team('one', 'clerk') + team('two', 'clerk'))
    const first = await serve(['serve', file])
    expect((await cardOf(first.url)).name).toBe('Team one')
    expect((await cardOf(`${first.url}/agents/two`)).name).toBe('Team two')
    const { agents } = await (await fetch(`${first.url}/agents`)).json()
    expect(agents.map(({ id }: { id: string }) => id)).toEqual(['one', 'two', 'clerk'])
    const named = await serve(['serve', file, '--team', 'two'])
    expect((await cardOf(named.url)).name).toBe('Team two')
    const wrong = await corral(['serve', file, '--team', 'three', '--store', 'memory'])
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('"three"') })
  })

  test('starts with a member that is down', async () => {
    const dead = `
[[agents]]
id = "dead"
name = "Dead"
endpoint = "http://127.0.0.1:1"
protocol = "a2a"
max_retries = 0
`
    const file = writeFile(temporary(), clerkAgent() + dead)
    const { url } = await serve(['serve', file])
    expect(await ask(`${url}/agents/clerk`, 'hi')).toBe('Echo: hi')
  })

  test('shows on stderr where a module throws, and nothing of it to the caller', async () => {
    const folder = temporary()
    writeFileSync(
      join(folder, 'broken.mjs'),
      'export default () => {\n  throw new Error("the drawer is empty")\n}\n',
    )
    const agent =
      '[[agents]]\nid = "broken"\nname = "Broken"\nprotocol = "module"\nendpoint = "./broken.mjs"\n'
    const served = await serve(['serve', writeFile(folder, agent)])
    const client = new A2AClient(`${served.url}/agents/broken`)
    const answer = JSON.stringify(await client.sendMessage('hi'))
    await client.close()
    expect(answer).toContain('TASK_STATE_FAILED')
    expect(answer).not.toContain('drawer')
    await served.seen(/the drawer is empty[\s\S]*broken\.mjs\S*:2/)
  })

  test('says which port is in use, and what to do', async () => {
    const file = writeFile(temporary())
    const { url } = await serve(['serve', file])
    const { port } = new URL(url)
    const second = await corral(['serve', file, '--port', port, '--store', 'memory'])
    expect(second.code).toBe(2)
    expect(second.stderr).toContain(
      `corral: Port ${port} on 127.0.0.1 is already in use; choose another with --port`,
    )
  })

  test('names the store that cannot be, and what to do', async () => {
    const cwd = temporary()
    const file = writeFile(cwd)
    for (const store of ['.', join(file, 'tasks.db')]) {
      const { code, stderr } = await corral(['serve', file, '--port', '0', '--store', store], {
        cwd,
      })
      expect(code).toBe(2)
      expect(stderr).toContain(`Cannot open the task store ${store}: `)
      expect(stderr).toContain('--store memory')
    }
  })

  test('says which process has the store, and what to do', async () => {
    const cwd = temporary()
    const file = writeFile(cwd)
    await serve(['serve', file, '--store', 'tasks.db'], { cwd })
    const second = await corral(['serve', file, '--port', '0', '--store', 'tasks.db'], { cwd })
    expect(second.code).toBe(2)
    expect(second.stderr).toMatch(/Cannot open the task store tasks\.db: process \d+ is using it/)
    expect(second.stderr).toContain('Choose another with --store PATH, or --store memory.')
  })

  test('refuses a file with problems, each with its line and column', async () => {
    const file = writeFile(temporary(), `${clerkAgent()}colour = "red"\n`)
    const { code, stderr } = await corral(['serve', file])
    expect(code).toBe(1)
    expect(stderr).toContain(`${file}:7:1: unknown key colour`)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  test('does not start where anyone on the network may call, and says what to do', async () => {
    const cwd = temporary()
    const file = writeFile(cwd)
    const open = ['--host', '0.0.0.0', '--port', '0']
    const commands = [['serve', file], ['demo'], ['eval', 'serve']]
    for (const command of commands) {
      const { code, stdout, stderr } = await corral([...command, ...open], { cwd })
      expect(code).toBe(2)
      expect(stdout).toBe('')
      expect(stderr).toMatch(/^corral: Anyone who can reach this machine could /)
      expect(stderr).toContain('--allow-unauthenticated')
      expect(stderr).not.toMatch(/^\s+at /m)
    }
    const filed = writeFile(cwd, `${clerkAgent()}\n[server]\nhost = "::"\n`)
    const refused = await corral(['serve', filed, '--port', '0', '--store', 'memory'], { cwd })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('set [server.auth]')
    expect(refused.stderr).toContain('allow_unauthenticated = true in [server]')
  })

  test('starts there with a warning where it is allowed, by the command or by the file', async () => {
    const file = writeFile(temporary())
    const flags = ['--host', '0.0.0.0', '--allow-unauthenticated']
    const byCommand = await serve(['serve', file, ...flags])
    await byCommand.seen(/Anyone who can reach this machine may call/)
    const table = '\n[server]\nhost = "0.0.0.0"\nallow_unauthenticated = true\n'
    const byFile = await serve(['serve', writeFile(temporary(), clerkAgent() + table)])
    await byFile.seen(/Anyone who can reach this machine may call/)
    const evaluator = start(['eval', 'serve', '--port', '0', ...flags], { cwd: temporary() })
    await evaluator.seen(/Evaluator at http/)
    await evaluator.seen(/Anyone who reaches this server may use it/)
  })

  test('starts there without a warning where callers must show who they are', async () => {
    const auth = '\n[[server.auth.bearer_tokens]]\ntoken = "s3cret"\nuser = "ann"\n'
    const file = writeFile(temporary(), clerkAgent() + auth)
    const served = await serve(['serve', file, '--host', '0.0.0.0'])
    served.signal('SIGTERM')
    const { stderr } = await served.ended
    expect(stderr).not.toContain('Anyone who')
  })

  test('refuses foreign pages and names on this machine, and lets in what the file names', async () => {
    const named = '\n[server]\nallowed_hosts = ["inside.example"]\n'
    const { url } = await serve(['serve', writeFile(temporary(), clerkAgent() + named)])
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await request(`${url}/tasks`, { headers })).status
    expect(await status({ host: 'evil.example' })).toBe(421)
    expect(await status({ origin: 'https://evil.example' })).toBe(403)
    expect(await status({ host: 'inside.example' })).toBe(200)
    const opened = '\n[server.cors]\norigins = "*"\n'
    const all = await serve(['serve', writeFile(temporary(), clerkAgent() + opened)])
    const headers = { host: 'evil.example', origin: 'https://evil.example' }
    const answer = await request(`${all.url}/tasks`, { headers })
    expect(answer).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': '*' } })
  })

  test('asks for credentials as the file says, and takes them from the environment', async () => {
    const auth = `\n[[server.auth.bearer_tokens]]\ntoken = "\${TOKEN}"\nuser = "ann"\n`
    const file = writeFile(temporary(), clerkAgent() + auth)
    const { url } = await serve(['serve', file], { env: { TOKEN: 's3cret' } })
    const refused = await corral(['send', url, 'hi'])
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('--bearer-token')
    const flags = ['--bearer-token', 'env:TOKEN']
    const allowed = await corral(['send', url, 'hi', ...flags], { env: { TOKEN: 's3cret' } })
    expect(allowed).toMatchObject({ code: 0, stdout: 'Echo: hi\n' })
  })
})

describe('stopping corral serve', () => {
  test('lets a running task end, exits 0, and shows it after the next start', async () => {
    const cwd = temporary()
    const file = writeFile(cwd)
    const door = await createDoor()
    const first = await serve(['serve', file, '--store', 'tasks.db'], { cwd })
    const { id } = await begin(first.url, `wait ${door.url}`)
    await door.reached
    first.signal('SIGTERM')
    await first.seen(/Stopping/)
    door.open()
    expect((await first.ended).code).toBe(0)
    const second = await serve(['serve', file, '--store', 'tasks.db'], { cwd })
    const shown = await corral(['task', 'get', second.url, id, '--json'])
    expect(JSON.parse(shown.stdout)).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'Waited for the door' }] }],
    })
  })

  test('ends at once at a later signal, not at one sent twice; the next start says what it took up', async () => {
    const cwd = temporary()
    const file = writeFile(cwd)
    const door = await createDoor()
    const first = await serve(['serve', file, '--store', 'tasks.db'], { cwd })
    await begin(first.url, `wait ${door.url}`)
    await door.reached
    first.signal('SIGINT')
    await first.seen(/Stopping/)
    first.signal('SIGINT')
    await first.seen(/another signal ends at once/)
    first.signal('SIGINT')
    expect((await first.ended).code).toBe(130)
    const second = start(['serve', file, '--port', '0', '--store', 'tasks.db'], { cwd })
    await second.seen(/From before: 0 tasks taken up again, 1 could not be/)
  })
})

describe('corral serve after a crash', () => {
  test('takes up the running task of a team, and ends it', async () => {
    const cwd = temporary()
    const file = writeFile(cwd, clerkAgent() + team('desk', 'clerk'))
    const args = ['serve', file, '--port', '0', '--store', 'tasks.db']
    const door = await createDoor()
    const first = await serve(args, { cwd })
    const { id } = await begin(first.url, `wait ${door.url}`)
    await door.reached
    first.signal('SIGKILL')
    await first.ended
    const second = start(args, { cwd })
    await second.seen(/From before: 1 tasks taken up again, 0 could not be/)
    const [, url = ''] = await second.seen(/is served at (\S+)/)
    door.open()
    const watched = await corral(['task', 'watch', url, id])
    expect(watched).toMatchObject({ code: 0, stdout: 'Waited for the door\n' })
  })
})

describe('corral serve --watch', () => {
  test('takes over a changed file and module, and keeps what runs', async () => {
    const directory = temporary()
    const file = writeFile(directory)
    const { url, seen } = await serve(['serve', file, '--watch'])
    const door = await createDoor()
    const { id } = await begin(url, `wait ${door.url}`)
    await door.reached
    writeFileSync(join(directory, 'other.mjs'), 'export default () => "Other"')
    writeFileSync(file, clerkAgent('clerk', 'Renamed').replace('clerk.mjs', 'other.mjs'))
    await seen(/Took over the file/)
    expect((await cardOf(url)).name).toBe('Renamed')
    expect(await ask(url, 'hi')).toBe('Other')
    door.open()
    const watched = await corral(['task', 'watch', url, id])
    expect(watched).toMatchObject({ code: 0, stdout: 'Waited for the door\n' })
  })

  test('keeps the team where the changed file is broken, and says why', async () => {
    const file = writeFile(temporary())
    const { url, seen } = await serve(['serve', file, '--watch'])
    writeFileSync(file, '[[agents]]\nid = 7\n')
    await seen(/The changed file cannot be used; the teams stay as they are/)
    await seen(/corral\.toml:2:1/)
    expect(await ask(url, 'hi')).toBe('Echo: hi')
    writeFileSync(file, clerkAgent('clerk', 'Mended'))
    await seen(/Took over the file/)
    expect((await cardOf(url)).name).toBe('Mended')
  })

  test('says that a changed [server] table needs a restart', async () => {
    const directory = temporary()
    const file = writeFile(directory)
    const { seen } = await serve(['serve', file, '--watch'])
    copyFileSync(join(directory, 'clerk.mjs'), join(directory, 'second.mjs'))
    writeFileSync(file, `${clerkAgent()}\n[server]\nport = 4000\n`)
    await seen(/The \[server\] table changed; restart to take it over/)
  })
})
