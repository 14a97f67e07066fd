import { describe, expect, onTestFinished, test } from 'vitest'
import { createAgentFromConfig } from '../../../src/agents/create.ts'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../../src/agents/openai/agent.ts'
import { userMessage } from '../../../src/protocol/task.ts'
import type { Part } from '../../../src/protocol/types.ts'
import { openModelServer } from '../../../src/testing/index.ts'
import { createTurn, runTurn } from '../../fixtures/turn.ts'
import { wires } from '../../fixtures/wires.ts'
import { createResolver } from '../../network/resolver.ts'

describe.each(wires)('over the wire of %s', (wire) => {
  async function start(files: OpenAIAgentOptions['files'] = {}) {
    const server = await openModelServer([{ chunks: ['seen'] }, { chunks: ['seen'] }], { wire })
    const { lookup } = createResolver({ 'img.example.com': [['93.184.216.34']] })
    const agent = new OpenAIAgent({
      id: 'eye',
      name: 'Eye',
      endpoint: server.url,
      apiKey: 'sk',
      model: 'm',
      timeoutSeconds: 10,
      maxRetries: 0,
      files: { lookup, ...files },
    })
    onTestFinished(() => agent.close())
    onTestFinished(server.close)
    return { agent, server }
  }

  const image = (url: string): Part => ({ url, mediaType: 'image/png' })

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://localhost:11434/',
    'https://img.example.com:22/',
    'https://nobody.example.com/a.png',
    'file:///etc/passwd',
    'data:text/html,x',
  ])('an image at %s is refused before the model is asked', async (url) => {
    const { agent, server } = await start()
    const turn = createTurn(userMessage([{ text: 'look' }, image(url)]))
    await expect(runTurn(agent, turn)).rejects.toMatchObject({
      code: 'invalidParams',
      details: { violations: [{ field: 'message.parts[1].url' }] },
    })
    expect(server.requests).toHaveLength(0)
  })

  test('a name that resolves inside is refused, one that resolves outside is passed on', async () => {
    const { lookup } = createResolver({
      'a.example.com': [['10.0.0.7']],
      'b.example.com': [['93.184.216.34', '10.0.0.7']],
      'c.example.com': [['93.184.216.34']],
    })
    const { agent, server } = await start({ lookup })
    for (const host of ['a', 'b'])
      await expect(
        runTurn(agent, createTurn(userMessage([image(`https://${host}.example.com/a.png`)]))),
      ).rejects.toMatchObject({ code: 'invalidParams' })
    expect(server.requests).toHaveLength(0)
    await runTurn(agent, createTurn(userMessage([image('https://c.example.com/a.png')])))
    expect(JSON.stringify(server.requests[0])).toContain('https://c.example.com/a.png')
  })

  test('what the operator allows is passed on, and so is an image in its own URL', async () => {
    const { agent, server } = await start({ allow: ['cdn.internal'] })
    const own = 'data:image/png;base64,aGk='
    const parts = [image('http://cdn.internal:88/a.png'), image(own)]
    await runTurn(agent, createTurn(userMessage(parts)))
    const sent = JSON.stringify(server.requests[0])
    expect(sent).toContain('http://cdn.internal:88/a.png')
    expect(sent).toContain(own)
  })

  test('an earlier image that may not be fetched stays as its name', async () => {
    const { agent, server } = await start()
    const earlier = userMessage([image('http://10.0.0.7/a.png'), { text: 'before' }])
    const turn = createTurn('and now?', { conversation: [earlier] })
    await runTurn(agent, turn)
    const sent = JSON.stringify(server.requests[0])
    expect(sent).toContain('before')
    expect(sent).toContain('[image/png]')
    expect(sent).not.toContain('10.0.0.7')
  })

  test('a file of the configuration names the hosts, and a wrong entry is told', async () => {
    const config = {
      id: 'eye',
      name: 'Eye',
      protocol: 'openai',
      endpoint: 'http://127.0.0.1:1',
      metadata: { api_key: 'sk', model: 'm' },
    } as const
    await expect(
      createAgentFromConfig({ ...config, allowFiles: ['10.0.0.0/99'] }, { directory: '.' }),
    ).rejects.toThrow('allow_files')
    const a2a = { ...config, protocol: 'a2a', metadata: {}, allowFiles: ['cdn.internal'] } as const
    await expect(createAgentFromConfig(a2a, { directory: '.' })).rejects.toThrow('allow_files')
  })
})
