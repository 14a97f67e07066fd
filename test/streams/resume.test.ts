import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { rpc, text } from '../server/sockets.ts'

const chunks = Array.from({ length: 40 }, (_, i) => `${i} `)

const agent = defineAgent({ name: 'talker' }, async function* () {
  for (const chunk of chunks) {
    await new Promise(setImmediate)
    yield chunk
  }
})
const server = await createServer({ agents: [agent] })
const listening = await listen(server, { port: 0, host: '127.0.0.1' })
afterAll(() => listening.close())

interface Seen {
  readonly ids: number[]
  taskId: string
  words: string
  done: boolean
}

/** Reads a stream until it ends or `limit` more events have been seen, then drops the connection. */
async function read(
  request: RequestInit & { path: string },
  seen: Seen,
  limit: number,
): Promise<void> {
  let left = limit
  const parser = createParser({
    onEvent({ id, data }) {
      if (left <= 0) return
      left--
      seen.ids.push(Number(id))
      note(JSON.parse(data), seen)
    },
  })
  const url = `http://127.0.0.1:${listening.port}${request.path}`
  const reply = await fetch(url, request)
  const decoder = new TextDecoder()
  for await (const bytes of reply.body ?? []) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    if (left <= 0) break
  }
}

function note(data: { result?: object }, seen: Seen): void {
  const event = (data.result ?? data) as {
    task?: { id: string }
    artifactUpdate?: { artifact: { parts: { text: string }[] } }
    statusUpdate?: { status: { state: string } }
  } // an event of 1.0, bare or in its envelope
  if (event.task) seen.taskId = event.task.id
  for (const part of event.artifactUpdate?.artifact.parts ?? []) seen.words += part.text
  if (event.statusUpdate?.status.state === 'TASK_STATE_COMPLETED') seen.done = true
}

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

/** How a reader comes back, on either binding. */
const again = {
  'JSON-RPC': (id: string) => ({ ...rpc('SubscribeToTask', { id }), path: '/' }),
  'HTTP+JSON': (id: string) => ({ method: 'POST', headers, path: `/tasks/${id}:subscribe` }),
}

describe.each(['JSON-RPC', 'HTTP+JSON'] as const)('a reader over %s', (binding) => {
  test('that drops anywhere and comes back with Last-Event-ID sees every event once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 15 }), { maxLength: 6 }),
        async (drops) => {
          const seen: Seen = { ids: [], taskId: '', words: '', done: false }
          const start = { ...rpc('SendStreamingMessage', text('go')), path: '/' }
          await read(start, seen, drops[0] ?? 1000)
          for (const limit of [...drops.slice(1), 1000]) {
            if (seen.done) break
            const back = again[binding](seen.taskId)
            const last = { 'last-event-id': String(seen.ids.at(-1)) }
            await read({ ...back, headers: { ...headers, ...last } }, seen, limit)
          }
          expect(seen.done).toBe(true)
          expect(seen.words).toBe(chunks.join(''))
          expect(seen.ids).toEqual([...new Set(seen.ids)].sort((a, b) => a - b))
        },
      ),
      { numRuns: 25 },
    )
  })

  test('that comes back to a finished task gets what follows its id, and the end', async () => {
    const seen: Seen = { ids: [], taskId: '', words: '', done: false }
    await read({ ...rpc('SendStreamingMessage', text('go')), path: '/' }, seen, 1000)
    const rest: Seen = { ids: [], taskId: '', words: '', done: false }
    const from = seen.ids[20] ?? 0
    const back = again[binding](seen.taskId)
    await read({ ...back, headers: { ...headers, 'last-event-id': String(from) } }, rest, 1000)
    expect(rest.ids).toEqual(seen.ids.filter((id) => id > from))
    expect(rest.done).toBe(true)
  })
})
