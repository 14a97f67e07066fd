import { connect, createServer as createSocketServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { A2AClient } from '../../../src/client/client.ts'
import { apiKeyAuthenticator } from '../../../src/server/access/auth.ts'
import { type RunServerOptions, runServer, serve } from '../../../src/server/node/run.ts'
import { createServer, type Server } from '../../../src/server/server.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { silent } from '../../../src/shared/log.ts'
import { createMemoryStore } from '../../../src/store/memory/store.ts'
import { defineTeam } from '../../../src/team/team.ts'
import { get, scripted } from '../../acceptance/serve.ts'

const scheduler = { type: 'workflow', steps: [{ agentId: 'a' }] } as const
const local = { port: 0, host: '127.0.0.1' } as const

async function open(change: Partial<Server> = {}): Promise<{ server: Server; said: string[] }> {
  const said: string[] = []
  const made = await createServer({ agents: [scripted('hi')], logger: false })
  const server = {
    ...made,
    ...change,
    async close() {
      said.push('server')
      await made.close()
    },
  }
  return { server, said }
}

async function run(options: RunServerOptions): Promise<readonly string[]> {
  const lines: string[] = []
  const { server } = await open()
  const warn = (_fields: object, text: string): void => void lines.push(text)
  const started = await runServer(server, { logger: { ...silent, warn }, ...options })
  await started.close()
  return lines
}

describe('a server that is run', () => {
  test('answers, and says what an earlier process had left', async () => {
    const { server } = await open()
    const started = await runServer(server, local)
    onTestFinished(started.close)
    expect(started.recovery).toEqual({ resumed: 0, failed: 0 })
    expect((await get(`${started.url}/health`)).status).toBe(200)
  })

  test.each(['127.0.0.1', '127.0.0.2', 'localhost'])('says nothing of %s', async (host) => {
    expect(await run({ port: 0, host })).toEqual([])
  })

  test('warns where anyone on the network may call, in the words it is given', async () => {
    expect(await run({ port: 0, host: '0.0.0.0', openWarning: 'Open!' })).toEqual(['Open!'])
    expect(await run({ port: 0 })).toEqual(['Anyone who reaches this server may use it'])
  })

  test('starts nowhere where anyone on the network may call, if it is told to refuse that', async () => {
    const { server, said } = await open()
    const started = runServer(server, { port: 0, openRefusal: 'Not like this' })
    await expect(started).rejects.toThrow('Not like this')
    expect(said).toEqual(['server'])
    expect(await run({ ...local, openRefusal: 'Not like this' })).toEqual([])
  })

  test('closes in order, once, and says when it has', async () => {
    const { server, said } = await open()
    const started = await runServer(server, {
      ...local,
      beforeClose: () => void said.push('before'),
      afterClose: async () => void said.push('after'),
    })
    await Promise.all([started.close(), started.close(), started.stopped])
    expect(said).toEqual(['before', 'server', 'after'])
    await expect(get(`${started.url}/health`)).rejects.toThrow()
  })

  test('whoever waits for its end hears that it could not be closed', async () => {
    const { server } = await open()
    const afterClose = (): Promise<void> => Promise.reject(new Error('the disk is gone'))
    const started = await runServer(server, { ...local, afterClose })
    await expect(started.close()).rejects.toThrow('the disk is gone')
    await expect(started.stopped).rejects.toThrow('the disk is gone')
  })
})

describe('a server that cannot start', () => {
  test('leaves nothing open where the port is taken', async () => {
    const taken = createSocketServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    onTestFinished(() => void taken.close())
    const address = taken.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const { server, said } = await open()
    const afterClose = async (): Promise<void> => void said.push('after')
    await expect(runServer(server, { port, host: '127.0.0.1', afterClose })).rejects.toThrow(
      'already in use',
    )
    expect(said).toEqual(['server', 'after'])
  })

  test('frees the port where what was left cannot be taken up', async () => {
    let url = ''
    const { server, said } = await open({
      recover: () => Promise.reject(new Error('the store is broken')),
      setUrl(given) {
        url = given
      },
    })
    await expect(runServer(server, local)).rejects.toThrow('the store is broken')
    expect(said).toEqual(['server'])
    const refused = new Promise((resolve) => {
      connect(Number(new URL(url).port), '127.0.0.1').once('error', resolve)
    })
    expect(await refused).toMatchObject({ code: 'ECONNREFUSED' })
  })
})

test.each(['before it listens', 'while it recovers'])(
  'a signal %s stops a server that starts',
  async (moment) => {
    const signal = (): boolean => process.emit('SIGTERM', 'SIGTERM')
    const closed = createDeferred<void>()
    const { server, said } = await open({
      setUrl: () => void (moment === 'before it listens' && expect(signal()).toBe(true)),
      async recover() {
        if (moment === 'while it recovers') expect(signal()).toBe(true)
        await closed.promise
        throw new Error('the store is closed')
      },
    })
    const afterClose = async (): Promise<void> => {
      said.push('store')
      closed.resolve()
    }
    const started = await runServer(server, { ...local, signals: true, logger: false, afterClose })
    await started.stopped
    expect(said).toEqual(['server', 'store'])
    expect(started.recovery).toEqual({ resumed: 0, failed: 0 })
    await expect(get(`${started.url}/health`)).rejects.toThrow()
  },
)

test('signals are left alone unless asked for, and when the server has stopped', async () => {
  const count = (): number => process.listenerCount('SIGTERM')
  const before = count()
  const quiet = await runServer((await open()).server, local)
  expect(count()).toBe(before)
  const listening = await runServer((await open()).server, { ...local, signals: true })
  expect(count()).toBe(before + 1)
  await Promise.all([quiet.close(), listening.close()])
  await listening.stopped
  expect(count()).toBe(before)
})

describe('serve', () => {
  const quiet = { port: 0, signals: false, logger: false } as const
  const first = (url: string) => new A2AClient(url).run('hi')

  test.each([
    ['an agent', scripted('hello')],
    ['a function', () => 'hello'],
    ['several, the first at the root', [scripted('hello'), () => 'unheard']],
    ['a team', defineTeam({ id: 't', name: 'T', agents: { a: scripted('hello') }, scheduler })],
  ])('serves %s on this machine', async (_what, agents) => {
    const { url, host, close } = await serve(agents, quiet)
    onTestFinished(close)
    expect(host).toBe('127.0.0.1')
    expect(await first(url)).toBe('hello')
  })

  test('takes the options of a server, and calls back when it is closed', async () => {
    const store = createMemoryStore()
    const closed = createDeferred<void>()
    const afterClose = async (): Promise<void> => closed.resolve()
    const started = await serve(scripted('hello'), { ...quiet, store, afterClose })
    expect(started.server.store).toBe(store)
    await started.close()
    await closed.promise
  })

  test('stops on signals unless told otherwise', async () => {
    const before = process.listenerCount('SIGTERM')
    const { close } = await serve(scripted('hello'), { port: 0, logger: false })
    expect(process.listenerCount('SIGTERM')).toBe(before + 1)
    await close()
    expect(process.listenerCount('SIGTERM')).toBe(before)
  })

  test('calls back where there can be no such server', async () => {
    const closed: string[] = []
    const afterClose = async (): Promise<void> => void closed.push('store')
    const twice = [scripted('hello'), scripted('hello')]
    await expect(serve(twice, { ...quiet, afterClose })).rejects.toThrow('the id scripted')
    expect(closed).toEqual(['store'])
  })

  test('starts without auth beyond this machine only where it is told to', async () => {
    const open = { ...quiet, host: '0.0.0.0' }
    await expect(serve(scripted('hello'), open)).rejects.toThrow('allowUnauthenticated: true')
    const { close } = await serve(scripted('hello'), { ...open, allowUnauthenticated: true })
    await close()
    const auth = { authenticators: [apiKeyAuthenticator({ keys: { k: 'anna' } })] }
    await (await serve(scripted('hello'), { ...open, auth })).close()
  })

  test('says which option it does not know', async () => {
    await expect(serve(scripted('hello'), { prot: 1 } as object)).rejects.toThrow(
      'serve: unknown option prot; did you mean port?',
    )
  })
})
