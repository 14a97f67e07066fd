import { describe, expect, test } from 'vitest'
import type { StreamResponse } from '../../src/index.ts'
import { corral, createDoor, serveHere, start, temporary } from './corral.ts'
import { clerkAgent, writeFile } from './files.ts'

const file = (text?: string): string => writeFile(temporary(), text)

function eventsOf(stdout: string): StreamResponse[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

describe('corral card', () => {
  test('shows the card, as a page and as JSON', async () => {
    const url = await serveHere(file())
    const page = await corral(['card', url])
    expect(page.stdout).toMatch(/^Clerk 1\.0\.0\n/)
    expect(page.stdout).toContain('JSONRPC')
    expect(page.stdout).toContain('Asks for: no credentials')
    const { stdout } = await corral(['card', url, '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ name: 'Clerk', capabilities: { streaming: true } })
  })

  test('says what to do where nobody answers', async () => {
    const { code, stderr } = await corral(['card', 'http://127.0.0.1:1'])
    expect(code).toBe(2)
    expect(stderr).toContain('corral demo')
    expect(stderr).not.toMatch(/^\s+at /m)
  })
})

describe('corral send', () => {
  test.each([[[]], [['--stream']], [['--protocol', '0.3']], [['--binding', 'rest', '--stream']]])(
    'shows the answer on stdout and the task on stderr, with %j',
    async (flags) => {
      const url = await serveHere(file())
      const { code, stdout, stderr } = await corral(['send', url, 'hi there', ...flags])
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'Echo: hi there\n' })
      expect(stderr).toMatch(/task \S+ completed, context \S+/)
    },
  )

  test('gives the task as JSON, and with --stream each event on a line', async () => {
    const url = await serveHere(file())
    const whole = await corral(['send', url, 'hi', '--json'])
    expect(JSON.parse(whole.stdout)).toMatchObject({
      task: { status: { state: 'TASK_STATE_COMPLETED' } },
    })
    const events = eventsOf((await corral(['send', url, 'hi', '--stream', '--json'])).stdout)
    expect(events[0]).toHaveProperty('task')
    expect(events.at(-1)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } },
    })
  })

  test('reads the message from stdin', async () => {
    const url = await serveHere(file())
    const sending = start(['send', url, '-'])
    sending.write('two\nlines\n')
    sending.end()
    expect((await sending.ended).stdout).toBe('Echo: two\nlines\n')
  })

  test('shows a question with what answers it, and the answer goes to the same task', async () => {
    const url = await serveHere(file())
    const asked = await corral(['send', url, 'ask'])
    expect(asked).toMatchObject({ code: 0, stdout: 'Which colour?\n' })
    const [, id = ''] = asked.stderr.match(/--task (\S+)/) ?? []
    const answered = await corral(['send', url, 'green', '--task', id, '--json'])
    expect(JSON.parse(answered.stdout)).toMatchObject({
      task: { id, artifacts: [{ parts: [{ text: 'You said: green' }] }] },
    })
  })

  test('stays in a conversation', async () => {
    const url = await serveHere(file())
    await corral(['send', url, 'one', '--context', 'c-1'])
    await corral(['send', url, 'two', '--context', 'c-1'])
    const { stdout } = await corral(['task', 'list', url, '--context', 'c-1', '--json'])
    expect(JSON.parse(stdout).totalSize).toBe(2)
  })

  test('fails with code 1 where the task fails, without the reason inside', async () => {
    const url = await serveHere(file())
    const { code, stdout, stderr } = await corral(['send', url, 'fail'])
    expect(code).toBe(1)
    expect(stderr).toContain('failed')
    expect(stdout + stderr).not.toContain('a secret reason')
  })

  test('keeps control characters of an agent from the terminal', async () => {
    const url = await serveHere(file())
    const { stdout } = await corral(['send', url, 'a\u001b[31mred\u0007'])
    expect(stdout).toBe('Echo: a\\u001b[31mred\\u0007\n')
  })

  test('puts an API key where the card wants it', async () => {
    const auth = `
[server.auth]
api_key_header = "X-Badge"
[[server.auth.api_keys]]
key = "k1"
user = "ann"
`
    const url = await serveHere(file(clerkAgent() + auth))
    expect((await corral(['send', url, 'hi', '--api-key', 'k1'])).code).toBe(0)
    expect((await corral(['send', url, 'hi', '--header', 'x-badge: k1'])).code).toBe(0)
    expect((await corral(['send', url, 'hi', '--api-key', 'wrong'])).code).toBe(1)
    const inherited = await corral(['send', url, 'hi', '--api-key', 'env:toString'])
    expect(inherited.stderr).toBe('corral: The variable toString is not set\n')
  })
})

describe('corral task', () => {
  test('follows a task that was only started, from any terminal', async () => {
    const url = await serveHere(file())
    const door = await createDoor()
    const begun = await corral(['send', url, `wait ${door.url}`, '--no-wait', '--json'])
    const { id } = JSON.parse(begun.stdout).task
    await door.reached
    const watching = start(['task', 'watch', url, id])
    await watching.seen(/waiting/)
    door.open()
    expect(await watching.ended).toMatchObject({ code: 0, stdout: 'Waited for the door\n' })
    const got = await corral(['task', 'get', url, id])
    expect(got.stdout).toContain('state    completed')
    expect(got.stdout).toContain('Waited for the door')
  })

  test('cancels a task, and whoever follows it learns so with code 1', async () => {
    const url = await serveHere(file())
    const door = await createDoor()
    const begun = await corral(['send', url, `wait ${door.url}`, '--no-wait', '--json'])
    const { id } = JSON.parse(begun.stdout).task
    await door.reached
    const watching = start(['task', 'watch', url, id, '--json'])
    await watching.seen(/"task"/)
    const canceled = await corral(['task', 'cancel', url, id])
    expect(canceled).toMatchObject({ code: 0, stdout: `task ${id} canceled\n` })
    const { code, stdout } = await watching.ended
    expect(code).toBe(1)
    expect(eventsOf(stdout).at(-1)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } },
    })
  })

  test('lists tasks in pages, by state', async () => {
    const url = await serveHere(file())
    for (const text of ['one', 'two', 'fail']) await corral(['send', url, text])
    const page = await corral(['task', 'list', url, '--state', 'completed', '--limit', '1'])
    expect(page.stdout).toMatch(
      /^TASK +STATE +AGE +CONTEXT +WORDS\n\S+ +completed +\d+ (?:s|min) +\S+ +\S/,
    )
    const [, token = ''] = page.stdout.match(/1 of 2; go on with --page (\S+)/) ?? []
    const rest = await corral(['task', 'list', url, '--state', 'completed', '--page', token])
    expect(rest.stdout.trim().split('\n')).toHaveLength(2)
  })

  test('says where to look for a task that is not there', async () => {
    const url = await serveHere(file())
    const { code, stderr } = await corral(['task', 'get', url, 'nope'])
    expect(code).toBe(1)
    expect(stderr).toContain('corral task list')
  })
})
