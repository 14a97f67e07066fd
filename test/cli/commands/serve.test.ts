import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { A2AClient } from '../../../src/client/index.ts'
import type { ClusterFacts } from '../../../src/store/feed.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'
import { corral, createDoor, serve, start, temporary } from '../corral.ts'
import { clerkAgent, writeFile } from '../files.ts'

/** Asks on a connection of its own, as another client would. */
async function clusterOf(url: string): Promise<ClusterFacts> {
  const answer = await new Promise((resolve, reject) => {
    request(`${url}/health`, { agent: false }, (reply) => json(reply).then(resolve, reject))
      .on('error', reject)
      .end()
  })
  return (answer as { cluster: ClusterFacts }).cluster // what the server writes for those it knows
}

/** The numbers of all that answer at one address. */
async function answering(url: string, asks = 6): Promise<ReadonlySet<number>> {
  const numbers = new Set<number>()
  for (let i = 0; i < asks; i++) numbers.add((await clusterOf(url)).replica)
  return numbers
}

/** The process that runs the one task there is; its number is the last word of a replica's name. */
async function runnerAt(url: string): Promise<number> {
  // Kept, since another replica, which answers next, may not know of the task yet.
  let name = ''
  const find = async (): Promise<string> => {
    const { members } = await clusterOf(url)
    name = members.find(({ tasks }) => tasks === 1)?.name ?? ''
    return name
  }
  await expect.poll(find).toMatch(/ \d+$/)
  return Number(name.split(' ').at(-1))
}

describePostgres('corral serve --workers', () => {
  const database = usePostgres()

  function fileIn(cwd: string): string {
    const table = `\n[server.postgres]\nschema = "${database.newSchema()}"\n`
    return writeFile(cwd, clerkAgent() + table)
  }

  test('serves one port by several replicas, replaces one that dies, and stops all at once', async () => {
    const cwd = temporary()
    const file = fileIn(cwd)
    const args = ['serve', file, '--store', database.url, '--workers', '2']
    const served = await serve(args, { cwd })
    expect((await answering(served.url)).size).toBe(2)

    const door = await createDoor()
    const client = new A2AClient(served.url)
    const configuration = { returnImmediately: true }
    const begun = await client.sendMessage(`wait ${door.url}`, { configuration })
    await door.reached
    process.kill(await runnerAt(served.url), 'SIGKILL')
    await served.seen(/"worker":\d,"code":null,"signal":"SIGKILL"/)
    await expect.poll(async () => (await answering(served.url)).size).toBe(2)
    door.open()
    const id = 'task' in begun ? begun.task.id : ''
    await expect
      .poll(async () => (await client.getTask(id)).status.state)
      .toMatch(/COMPLETED|FAILED/)
    await client.close()

    served.signal('SIGTERM')
    const ended = await served.ended
    expect(ended.code).toBe(0)
    expect(ended.stderr).toContain('"worker":1')
    expect(ended.stdout.match(/"url"/g)).toHaveLength(1)
  })

  test('ends with the reason where a worker cannot start', async () => {
    const cwd = temporary()
    const taken = await serve(['serve', fileIn(cwd)], { cwd })
    const { port } = new URL(taken.url)
    const args = ['serve', fileIn(cwd), '--store', database.url, '--workers', '2', '--port', port]
    const second = start(args, { cwd })
    const { code, stderr } = await second.ended
    expect(code).toBe(2)
    expect(stderr).toContain(`Port ${port} on 127.0.0.1 is already in use`)
  })
})

describe('corral serve --workers without a store to share', () => {
  test.each(['memory', 'tasks.db'])('says for %s what to do', async (store) => {
    const cwd = temporary()
    const file = writeFile(cwd)
    const { code, stderr } = await corral(['serve', file, '--store', store, '--workers', '3'], {
      cwd,
    })
    expect(code).toBe(2)
    expect(stderr).toContain('3 workers cannot share')
    expect(stderr).toContain('--store postgres://')
    expect(stderr).toContain('corral store copy')
  })
})
