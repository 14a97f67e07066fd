import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { rpc, text } from '../server/sockets.ts'

/** What a reader that stands still may cost: its bounded buffer, the socket's, and room for the collector. */
const bound = 24 * 1024 * 1024

async function start(): Promise<ChildProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-slow-'))
  const child = fork(
    join(import.meta.dirname, 'slow-reader-process.ts'),
    [join(folder, 'tasks.db')],
    { execArgv: ['--import', 'tsx', '--expose-gc'] },
  )
  onTestFinished(async () => {
    child.send('close')
    await once(child, 'exit')
    await rm(folder, { recursive: true, force: true })
  })
  return child
}

function open(port: number): Promise<IncomingMessage> {
  const { headers, body } = rpc('SendStreamingMessage', text('go'))
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method: 'POST', headers } as object, resolve)
    sent.on('error', reject)
    sent.end(body)
  })
}

test('a reader who stops reading costs a bounded amount, and misses nothing when it reads on', async () => {
  const child = await start()
  const [{ port, memory: before }] = await once(child, 'message')
  const reply = await open(port)
  reply.pause()
  const [{ produced, memory: after }] = await once(child, 'message')
  expect(after - before).toBeLessThan(bound)
  let seen = 0
  let rest = ''
  reply.setEncoding('utf8')
  for await (const chunk of reply) {
    const frames = (rest + chunk).split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const number = /"text":"(\d+) x/.exec(frame)?.[1]
      if (number !== undefined) expect(Number(number)).toBe(seen++)
    }
  }
  expect(seen).toBe(produced)
})
