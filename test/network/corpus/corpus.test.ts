import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { A2AClient } from '../../../src/client/client.ts'
import { createNamedRules } from '../../../src/network/guard.ts'
import { createServer as createA2AServer, listen as listenA2A } from '../../../src/server/index.ts'
import { createResolver } from '../resolver.ts'
import { entrances } from './entrances.ts'
import { rebindings, writtenRebindings } from './rebinding.ts'
import { hostileUrls } from './urls.ts'

test('the corpus is as large as it is said to be', () => {
  expect(new Set(hostileUrls.map(({ url }) => url)).size).toBe(hostileUrls.length)
  expect(hostileUrls.length).toBeGreaterThanOrEqual(160)
  expect(rebindings.length).toBeGreaterThanOrEqual(12)
})

describe.each(entrances)('$name', ({ open, dials, allows }) => {
  test('K012 refuses every hostile URL', async () => {
    const named = hostileUrls.flatMap(({ url, addresses }) =>
      addresses ? [[new URL(url).hostname, [addresses]] as const] : [],
    )
    const { lookup } = createResolver({
      ...Object.fromEntries(named),
      'example.com': [['93.184.216.34']],
    })
    const entrance = await open(lookup)
    onTestFinished(entrance.close)
    const passed: string[] = []
    for (const { url } of hostileUrls) if (await entrance.passes(url)) passed.push(url.slice(0, 60))
    expect(passed).toEqual([])
  })

  test.each(rebindings)('refuses a name that is $name', async ({ steps }) => {
    const tried = dials ? steps.filter(({ passes }) => !passes) : steps
    const { lookup } = createResolver({
      'rebind.example.com': tried.map(({ addresses }) => addresses),
    })
    const entrance = await open(lookup)
    onTestFinished(entrance.close)
    const seen: boolean[] = []
    for (const _ of tried) seen.push(await entrance.passes('http://rebind.example.com:8080/'))
    expect(seen).toEqual(tried.map(({ passes }) => passes))
  })

  test.skipIf(dials)('lets honest URLs pass', async () => {
    const { lookup } = createResolver({ '*': [['93.184.216.34', '2606:4700:4700::1111']] })
    const entrance = await open(lookup)
    onTestFinished(entrance.close)
    for (const host of [
      'example.com',
      'example.com:8080',
      'bücher.example',
      '8.8.8.8',
      '[2606:4700::1]',
    ])
      expect([host, await entrance.passes(`http://${host}/a`)]).toEqual([host, true])
  })

  test.runIf(allows)('lets pass what its operator allows, and no more', async () => {
    const { lookup } = createResolver({ '*': [['10.0.0.1']] })
    const allow = ['inside.example.com', 'mail.example.com:25', '10.1.0.0/16']
    const entrance = await open(lookup, allow)
    onTestFinished(entrance.close)
    for (const host of ['inside.example.com', 'inside.example.com:22', 'mail.example.com:25'])
      expect([host, await entrance.passes(`http://${host}/`)]).toEqual([host, true])
    for (const host of ['10.1.2.3', '10.1.2.3:8080'])
      expect([host, await entrance.passes(`http://${host}/`)]).toEqual([host, true])
    for (const host of ['mail.example.com', 'other.example.com', '10.1.2.3:25', '10.2.0.1'])
      expect([host, await entrance.passes(`http://${host}/`)]).toEqual([host, false])
  })
})

describe('a webhook as it is registered', () => {
  test.each(['JSONRPC', 'HTTP+JSON'])(
    'is refused over %s if its URL is hostile',
    async (binding) => {
      const agent = defineAgent({ name: 'Waiting' }, async function* (_message, turn) {
        yield turn.status('TASK_STATE_INPUT_REQUIRED')
      })
      const server = await createA2AServer({
        agents: [agent],
        pushNotifications: { guard: { allowHttp: true } },
        logger: false,
      })
      const listening = await listenA2A(server, { port: 0, host: '127.0.0.1' })
      onTestFinished(() => listening.close())
      const client = new A2AClient({ serverUrl: listening.url, bindings: [binding] })
      onTestFinished(() => client.close())
      const answer = await client.sendMessage('hi', { configuration: { returnImmediately: true } })
      const taskId = 'task' in answer ? answer.task.id : ''
      const stored: string[] = []
      for (const { url, addresses } of hostileUrls) {
        if (addresses) continue // what it resolves to is seen when it is delivered
        const refusals = await Promise.allSettled([
          client.createTaskPushNotificationConfig({ taskId, url }),
          client.sendMessage('hi', { configuration: { taskPushNotificationConfig: { url } } }),
        ])
        for (const { status } of refusals) if (status === 'fulfilled') stored.push(url.slice(0, 60))
      }
      expect(stored).toEqual([])
      expect(await client.listTaskPushNotificationConfigs({ taskId })).toMatchObject({
        configs: [],
      })
      await client.createTaskPushNotificationConfig({ taskId, url: 'http://example.com/' })
    },
  )
})

describe('what the operator has written', () => {
  test.each(writtenRebindings)('is reached where it lies: $name', ({ steps }) => {
    const rules = createNamedRules(['https://agent.example.com:88'])
    const host = 'agent.example.com'
    const target = { protocol: 'https:', host, port: 88 }
    expect(rules.refuse(target)).toBeUndefined()
    const named = rules.isNamed(target)
    const seen = steps.map(({ addresses }) => !rules.refuseAddresses({ host, addresses, named }))
    expect(seen).toEqual(steps.map(({ passes }) => passes))
  })
})

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) is not followed by a client',
  async (code) => {
    let visits = 0
    const inside = createServer((_request, response) => {
      visits++
      response.end('{}')
    })
    const listen = async (server: typeof inside): Promise<string> => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void server.close())
      const { port } = server.address() as AddressInfo // it listens on a port
      return `http://127.0.0.1:${port}/`
    }
    const location = await listen(inside)
    const agent = await listen(
      createServer((_request, response) => void response.writeHead(code, { location }).end()),
    )
    const client = new A2AClient({ serverUrl: agent, retry: { maxRetries: 0 } })
    onTestFinished(() => client.close())
    await expect(client.sendMessage('hi')).rejects.toThrow()
    expect(visits).toBe(0)
  },
)
