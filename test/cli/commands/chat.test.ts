import { describe, expect, test } from 'vitest'
import { corral, createDoor, serve, serveHere, start, temporary } from '../corral.ts'
import { writeFile } from '../files.ts'
import { hasTerminal, startInTerminal } from '../terminal.ts'

const ctrlC = '\u0003'

const file = (): string => writeFile(temporary())

describe.runIf(hasTerminal)('corral chat in a terminal', () => {
  test('answers line by line in one conversation, until /quit', async () => {
    const url = await serveHere(file())
    const chat = startInTerminal(['chat', url])
    await chat.seen(/Talking with Clerk[\s\S]*you> /)
    chat.write('hello\r')
    await chat.seen(/Echo: hello\r?\n[\s\S]*you> /)
    chat.write('again\r')
    await chat.seen(/Echo: again\r?\n[\s\S]*you> /)
    chat.write('/quit\r')
    expect((await chat.ended).code).toBe(0)
    const { tasks } = JSON.parse((await corral(['task', 'list', url, '--json'])).stdout)
    expect(new Set(tasks.map(({ contextId }: { contextId: string }) => contextId)).size).toBe(1)
    expect(tasks).toHaveLength(2)
  })

  test('passes the answer to a question on to the task that asked', async () => {
    const url = await serveHere(file())
    const chat = startInTerminal(['chat', url])
    await chat.seen(/you> /)
    chat.write('ask\r')
    await chat.seen(/Which colour\?[\s\S]*answer> /)
    chat.write('green\r')
    await chat.seen(/You said: green[\s\S]*you> /)
    chat.write('/quit\r')
    expect((await chat.ended).stdout.match(/Which colour/g)).toHaveLength(1)
    const { totalSize } = JSON.parse((await corral(['task', 'list', url, '--json'])).stdout)
    expect(totalSize).toBe(1)
  })

  test('Ctrl-C cancels the task that runs, and leaves when none does', async () => {
    const url = await serveHere(file())
    const door = await createDoor()
    const chat = startInTerminal(['chat', url])
    await chat.seen(/you> /)
    chat.write(`wait ${door.url}\r`)
    await door.reached
    await chat.seen(/waiting\S*\r?\n/)
    chat.write(ctrlC)
    await chat.seen(/\[canceled\][\s\S]*you> /)
    const { tasks } = JSON.parse((await corral(['task', 'list', url, '--json'])).stdout)
    expect(tasks).toMatchObject([{ status: { state: 'TASK_STATE_CANCELED' } }])
    chat.write(ctrlC)
    expect((await chat.ended).code).toBe(0)
  })

  test('goes on after an error', async () => {
    const { url, signal, ended } = await serve(['serve', file()])
    const chat = startInTerminal(['chat', url])
    await chat.seen(/you> /)
    signal('SIGTERM')
    await ended
    chat.write('hello\r')
    await chat.seen(/corral: [\s\S]*you> /)
    chat.write('/quit\r')
    expect((await chat.ended).code).toBe(0)
  })
})

describe.runIf(hasTerminal)('a terminal', () => {
  test('gets readable log lines, and colours unless NO_COLOR is set', async () => {
    const open = ['--host', '0.0.0.0', '--allow-unauthenticated']
    const args = ['serve', file(), '--port', '0', '--store', 'memory', ...open]
    const coloured = startInTerminal(args, { env: { NO_COLOR: undefined, TERM: 'xterm' } })
    await coloured.seen(
      /m\d\d:\d\d:\d\d\P{L}\[22m \P{L}\[1m\P{L}\[38;5;172mWARN\P{L}\[39m\P{L}\[22m Anyone who can reach/u,
    )
    await coloured.seen(/is served at/)
    coloured.write(ctrlC)
    expect((await coloured.ended).code).toBe(0)
    const plain = startInTerminal(args, { env: { NO_COLOR: '1', TERM: 'xterm' } })
    await plain.seen(/^\d\d:\d\d:\d\d WARN Anyone who can reach/m)
    await plain.seen(/is served at/)
    plain.write(ctrlC)
    const { stdout } = await plain.ended
    expect(stdout).not.toContain('\u001b[')
  })

  test('shows the answer of send as it comes', async () => {
    const url = await serveHere(file())
    const door = await createDoor()
    const sending = startInTerminal(['send', url, `wait ${door.url}`, '--stream'])
    await sending.seen(/waiting/)
    door.open()
    await sending.seen(/Waited for the door/)
    expect((await sending.ended).code).toBe(0)
  })
})

describe('corral chat without a terminal', () => {
  test('reads lines from a pipe and answers each', async () => {
    const url = await serveHere(file())
    const chat = start(['chat', url])
    chat.write('one\n\ntwo\n')
    chat.end()
    expect(await chat.ended).toMatchObject({ code: 0, stdout: 'Echo: one\nEcho: two\n' })
  })

  test('gives the events as JSON where JSON is asked for', async () => {
    const url = await serveHere(file())
    const chat = start(['chat', url, '--json'])
    chat.write('one\n')
    chat.end()
    const { stdout, stderr } = await chat.ended
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toBeTypeOf('object')
    expect(stderr).toBe('')
  })
})
