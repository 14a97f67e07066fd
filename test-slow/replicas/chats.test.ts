import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { type ModelAnswer, type ModelRequest, openModelServer } from '../../src/testing/index.ts'
import { describePostgres, usePostgres } from '../../test/support/postgres.ts'

const chats = 200
const rounds = 3

/** Two tools, one after the other, then an answer in pieces: three streamed calls per chat. */
function speak({ messages }: ModelRequest): ModelAnswer {
  const results = messages.filter(({ role }) => role === 'tool').length
  if (results === 0) return { tools: [{ name: 'order', arguments: { id: '1' } }] }
  if (results === 1) return { tools: [{ name: 'price', arguments: { id: '1' } }] }
  return { chunks: Array.from({ length: 10 }, (_, i) => `piece ${i} `) }
}

/** What came of a chat. */
interface Outcome {
  readonly status: number
  readonly text: string
}

async function chat(url: string): Promise<Outcome> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'How?' }] }
  const response = await fetch(`${url}/message:stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ message }),
  })
  return { status: response.status, text: await response.text() }
}

async function start(args: readonly string[]): Promise<{ url: string; lost: () => number }> {
  const child = fork(join(import.meta.dirname, 'chats-process.ts'), args, {
    execArgv: ['--import', 'tsx'],
  })
  let lost = 0
  const url = await new Promise<string>((resolve) =>
    child.on('message', (told: { readonly url?: string; readonly warning?: string }) => {
      if (told.url !== undefined) resolve(told.url)
      if (told.warning?.startsWith('The registration of this replica is lost')) lost++
    }),
  )
  onTestFinished(async () => {
    child.send('close')
    await once(child, 'exit')
  })
  return { url, lost: () => lost }
}

function keepBusy(): ChildProcess {
  const child = spawn(process.execPath, ['-e', 'for (;;);'])
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

describePostgres('one replica with two hundred chats at once', () => {
  const database = usePostgres()

  it.each([0, 2])('keeps its lease beside %i busy loops', async (loops) => {
    const model = await openModelServer(speak)
    onTestFinished(() => model.close())
    const replica = await start([database.url, database.newSchema(), model.url])
    for (let i = 0; i < loops; i++) keepBusy()
    const outcomes: Outcome[] = []
    for (let round = 0; round < rounds; round++)
      outcomes.push(...(await Promise.all(Array.from({ length: chats }, () => chat(replica.url)))))
    const rejected = outcomes.filter(({ status }) => status === 503)
    const answered = outcomes.filter(({ text }) => text.includes('TASK_STATE_COMPLETED'))
    process.stderr.write(
      `${outcomes.length} chats beside ${loops} busy loops: ${answered.length} answered, ${rejected.length} rejected, ${replica.lost()} leases lost\n`,
    )
    expect(replica.lost()).toBe(0)
    // Only what was rejected before it began has no answer.
    expect(answered.length + rejected.length).toBe(outcomes.length)
    expect(rejected.filter(({ text }) => !/is busy|is behind/.test(text))).toEqual([])
  })
})
