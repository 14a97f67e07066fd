import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AClient } from '../../src/client/client.ts'
import { textOf } from '../../src/protocol/task.ts'
import { post, serve } from '../acceptance/serve.ts'
import { act, wires } from '../acceptance/wires.ts'

const key = { 'idempotency-key': 'k' }

describe('another message under a used Idempotency-Key', () => {
  test.each(wires.map((wire) => [wire.name, wire] as const))(
    'is invalid in %s, and the agent does not hear it',
    async (_name, wire) => {
      const heard: string[] = []
      const agent = defineAgent({ name: 'Ear' }, (message) => {
        heard.push(textOf(message.parts))
        return 'heard'
      })
      const { url } = await serve(agent)
      const send = async (name: 'send' | 'stream', text: string) =>
        (await act(url, wire.request(name, { text }), key)).text()
      await send('send', 'one')
      for (const name of ['send', 'stream'] as const) {
        const refusal = await send(name, 'two')
        expect(refusal).toContain('IDEMPOTENCY_KEY_REUSED')
        expect(refusal).toMatch(/-32602|"code":400/)
        expect(await send(name, 'one')).not.toContain('IDEMPOTENCY_KEY_REUSED')
      }
      expect(heard).toEqual(['one'])
    },
  )

  test('is invalid through OpenAI’s API', async () => {
    const { url } = await serve(defineAgent({ name: 'Ear' }, () => 'heard'))
    const chat = (content: string) =>
      post(
        `${url}/v1/chat/completions`,
        JSON.stringify({ messages: [{ role: 'user', content }] }),
        key,
      )
    expect((await chat('one')).status).toBe(200)
    expect((await chat('one')).status).toBe(200)
    const { status, json } = await chat('two')
    expect([status, json.error.code]).toEqual([400, 'idempotency_key_reused'])
  })

  test.each(['JSONRPC', 'HTTP+JSON'] as const)('is told to our client over %s', async (binding) => {
    const { url } = await serve(defineAgent({ name: 'Ear' }, () => 'heard'))
    const client = new A2AClient({ serverUrl: url, bindings: [binding] })
    const send = (text: string) => client.sendMessage(text, { idempotencyKey: 'k' })
    await send('one')
    await expect(send('two')).rejects.toMatchObject({
      code: 'invalidParams',
      details: { reason: 'IDEMPOTENCY_KEY_REUSED' },
    })
  })
})
