import { expect, test } from 'vitest'
import { describePostgres, usePostgres } from '../../support/postgres.ts'
import { corral, serve, temporary } from '../corral.ts'
import { clerkAgent, writeFile } from '../files.ts'

describePostgres('corral cluster status', () => {
  const database = usePostgres()

  test('shows the replicas, by a server and by the database', async () => {
    const cwd = temporary()
    const schema = database.newSchema()
    const file = writeFile(cwd, `${clerkAgent()}\n[server.postgres]\nschema = "${schema}"\n`)
    const served = await serve(['serve', file, '--store', database.url], { cwd })
    const page = await corral(['cluster', 'status', served.url])
    expect(page.stdout).toMatch(/^REPLICA +NAME +ALIVE +LEASE +TASKS +AGENTS$/m)
    expect(page.stdout).toMatch(/^1 \* +corral .* yes .* 0 +clerk@/m)
    expect(page.stdout).toMatch(/^synchronous standby +no/m)
    const direct = ['cluster', 'status', database.url, '--schema', schema, '--json']
    const facts = JSON.parse((await corral(direct)).stdout)
    expect(facts).toMatchObject({ members: [{ number: 1, alive: true }], orphans: 0, inbox: 0 })
    served.signal('SIGTERM')
    await served.ended
    expect(await corral(direct)).toMatchObject({ code: 1 })
  })
})

test('corral cluster status says where there are no replicas, and where nobody is', async () => {
  const { url } = await serve(['serve', writeFile(temporary())])
  const alone = await corral(['cluster', 'status', url])
  expect(alone).toMatchObject({ code: 1, stderr: expect.stringContaining('--store postgres://') })
  const nobody = await corral(['cluster', 'status', 'http://127.0.0.1:1'])
  expect(nobody).toMatchObject({ code: 2, stderr: expect.stringContaining('Is it running?') })
})
