import { describe, expect, test } from 'vitest'
import { start } from '../../bench/processes.ts'
import { type WorkloadName, workloadOf } from '../../bench/workloads.ts'

/** One answer of a subject: its status, headers and body, with what differs from request to request made equal. */
async function answerOf(subject: string, name: WorkloadName): Promise<object> {
  const child = start('subject.ts', [subject, name])
  try {
    const { port } = (await child.ready) as { port: number } // what subject.ts says first
    const { path, headers, body } = workloadOf(name)
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    })
    const { date: _, ...kept } = Object.fromEntries(reply.headers)
    return { status: reply.status, headers: kept, body: settled(await reply.text()) }
  } finally {
    await child.stop()
  }
}

/** Ids and times are of the moment, and the order of members says nothing. */
function settled(text: string): unknown[] {
  const same = text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
  return same
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (line.startsWith('id:') ? line : JSON.parse(line.replace('data: ', ''))))
}

describe('the floor', () => {
  test.each(['message', 'task', 'stream-20', 'get-task'] as const)(
    'answers what Corral answers: %s',
    async (name) => {
      const [floor, corral] = await Promise.all([answerOf('floor', name), answerOf('corral', name)])
      expect(floor).toEqual(corral)
    },
  )
})
