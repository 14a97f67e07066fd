import { expect, test } from 'vitest'
import { corral, serve } from '../../test/cli/corral.ts'
import { guideFile, runProgram } from '../../test/examples/guides/guide.ts'
import { describePostgres, usePostgres } from '../../test/support/postgres.ts'

describePostgres('the guide to replicas', () => {
  const database = usePostgres()

  test('a worker is killed in the middle of a story, and another tells the rest', async () => {
    const name = `guide_${process.pid}`
    await database.query(`CREATE DATABASE ${name}`)
    const store = Object.assign(new URL(database.url), { pathname: `/${name}` }).href
    const args = ['serve', guideFile('replicas/corral.toml'), '--workers', '3', '--store', store]
    const served = await serve(args)
    const status = await corral(['cluster', 'status', store, '--json'])
    expect(JSON.parse(status.stdout).members).toHaveLength(3)

    const env = { AGENT_URL: served.url }
    const { code, stdout } = await runProgram('replicas/watch.mjs', { env })
    expect(code).toBe(0)
    const [, killed = ''] = /^killed process (\d+)$/m.exec(stdout) ?? []
    const told = [...stdout.matchAll(/^(\w+), told by process (\d+)$/gm)]
    expect(told.map(([, part]) => part)).toEqual(['beginning', 'middle', 'turn', 'end'])
    expect(told.at(-1)?.[2]).not.toBe(killed)
    const owners = [...stdout.matchAll(/process (\d+) tells it$/gm)].map(([, pid]) => pid)
    expect(owners[0]).toBe(killed)
    expect(new Set(owners).size).toBeGreaterThan(1)
    expect(stdout.trim().endsWith('TASK_STATE_COMPLETED')).toBe(true)
    served.signal('SIGTERM')
    expect((await served.ended).code).toBe(0)
  })
})
