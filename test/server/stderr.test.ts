import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Agent, defineAgent } from '../../src/agents/index.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { bearer, createServer, listen, type ServerOptions } from '../../src/server/index.ts'
import { silent } from '../../src/shared/log.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { defineTeam, TeamServer } from '../../src/team/index.ts'

const broken = defineAgent({ name: 'Broken' }, () => {
  throw new Error('The drawer is empty', { cause: new Error('the key was lost') })
})

/** What the test's process writes to stderr. */
function hearStderr(): readonly string[] {
  const heard: string[] = []
  const spy = vi.spyOn(console, 'error').mockImplementation((line) => void heard.push(String(line)))
  onTestFinished(() => spy.mockRestore())
  return heard
}

async function ask(agent: Agent, options: Partial<ServerOptions> = {}): Promise<string> {
  const server = await createServer({ agents: [agent], ...options })
  onTestFinished(() => server.close())
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } as const
  return JSON.stringify(await server.dispatch('broken')('SendMessage', { message }, {}))
}

describe('what an agent throws', () => {
  test('reaches stderr with its stack and causes, and the caller hears nothing of it', async () => {
    const heard = hearStderr()
    const answer = await ask(broken)
    const text = heard.join('\n')
    expect(text).toContain('ERROR The agent failed taskId=')
    expect(text).toContain('Error: The drawer is empty')
    expect(text).toContain('caused by: Error: the key was lost')
    expect(text).toContain('stderr.test.ts')
    expect(answer).toContain('TASK_STATE_FAILED')
    expect(answer).not.toMatch(/drawer|lost|stderr\.test/)
  })

  test('reaches stderr from inside a team that serves itself', async () => {
    const heard = hearStderr()
    const scheduler = { type: 'workflow', steps: [{ agentId: 'broken' }] } as const
    const team = defineTeam({ id: 'team', name: 'Team', agents: { broken }, scheduler })
    const server = new TeamServer(team, 0, { host: '127.0.0.1' })
    await server.start()
    onTestFinished(() => server.shutdown())
    const params = { message: { messageId: 'm', role: 'user', parts: [{ text: 'hi' }] } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const response = await fetch(`${server.url}/`, { method: 'POST', headers, body })
    expect(await response.text()).not.toContain('drawer')
    expect(heard.join('\n')).toContain('Error: The drawer is empty')
  })

  test('stays unsaid where the logger is false, and goes to a logger of one’s own', async () => {
    const heard = hearStderr()
    await ask(broken, { logger: false })
    const said: unknown[] = []
    await ask(broken, { logger: { ...silent, error: (fields) => said.push(fields) } })
    expect(heard).toEqual([])
    expect(said).toEqual([expect.objectContaining({ err: expect.any(Error) })])
  })
})

describe('a server that anyone on the network may use', () => {
  const agent = defineAgent({ name: 'Open' }, () => 'hi')

  test('warns on stderr where it listens, if it was given no logger', async () => {
    const heard = hearStderr()
    const server = await createServer({ agents: [agent] })
    const { close } = await listen(server, { port: 0 })
    await close()
    expect(heard).toEqual([
      expect.stringMatching(/^WARN Anyone who reaches this server may use it/),
    ])
  })

  test('warns on stderr as a TeamServer too', async () => {
    const heard = hearStderr()
    const scheduler = { type: 'workflow', steps: [{ agentId: 'open' }] } as const
    const team = defineTeam({ id: 'team', name: 'Team', agents: { open: agent }, scheduler })
    const server = new TeamServer(team, 0)
    await server.start()
    await server.shutdown()
    expect(heard).toEqual([
      expect.stringContaining('Starting TeamServer on'),
      expect.stringContaining('no auth is set'),
    ])
  })

  test('is quiet on loopback, with authentication, and where the logger is false', async () => {
    const heard = hearStderr()
    const auth = { authenticators: [bearer({ tokens: { t: 'ann' } })] }
    for (const [options, where] of [
      [{}, { host: 'localhost' }],
      [{ auth }, {}],
      [{}, { logger: false }],
    ] as const) {
      const server = await createServer({ agents: [agent], ...options })
      const { close } = await listen(server, { port: 0, ...where })
      await close()
    }
    expect(heard).toEqual([])
  })
})

describe('what a store throws', () => {
  const fine = defineAgent({ name: 'Fine' }, () => 'fine')
  const kept = createMemoryStore({ maxTasks: 10 })
  const faults = [
    new Error('column "colour" does not exist'),
    new A2AError('internal', 'The task store cannot read', { cause: new Error('colour is gone') }),
  ]

  test.each(faults)(
    'reaches stderr once, and the caller hears no more than that',
    async (fault) => {
      const heard = hearStderr()
      const store = { ...kept, get: () => Promise.reject(fault) }
      const server = await createServer({ agents: [fine], store })
      onTestFinished(() => server.close())
      const asked = server.dispatch('fine')('GetTask', { id: 't' }, {})
      await expect(asked).rejects.toThrow()
      expect(heard).toHaveLength(1)
      expect(heard[0]).toContain('ERROR An operation failed operation=GetTask')
      expect(heard[0]).toContain('colour')
    },
  )

  test('is not told where it is the caller’s own mistake, or passes by itself', async () => {
    const heard = hearStderr()
    const away = new A2AError('unavailable', 'The task store cannot read: it is away')
    const store = { ...kept, get: () => Promise.reject(away) }
    const server = await createServer({ agents: [fine], store })
    onTestFinished(() => server.close())
    for (const id of ['t', ''])
      await expect(server.dispatch('fine')('GetTask', { id }, {})).rejects.toThrow()
    expect(heard).toEqual([])
  })
})
