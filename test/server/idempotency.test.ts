import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AClient } from '../../src/client/client.ts'
import { textOf } from '../../src/protocol/task.ts'
import { post, serve } from '../acceptance/serve.ts'
import { act, wires } from '../acceptance/wires.ts'

const key = { 'idempotency-key': 'k' }

describe('an Idempotency-Key that is none', () => {
  const keys = [
    ['k'.repeat(257), 'must have at most 256 characters'],
    ['k\u0085', 'must not have control characters'],
  ] as const

  test.each(wires.map((wire) => [wire.name, wire] as const))(
    'is invalid in %s, and the agent does not hear the message',
    async (_name, wire) => {
      const heard: string[] = []
      const agent = defineAgent({ name: 'Ear' }, (message) => {
        heard.push(textOf(message.parts))
        return 'heard'
      })
      const { url } = await serve(agent)
      for (const [used, reason] of keys)
        for (const name of ['send', 'stream'] as const) {
          const request = wire.request(name, { text: 'hi' })
          const refusal = await (await act(url, request, { 'idempotency-key': used })).text()
          expect(refusal).toContain(`The Idempotency-Key header ${reason}`)
          expect(refusal).toMatch(/-32602|"code":400/)
        }
      const longest = { 'idempotency-key': 'k'.repeat(256) }
      await (await act(url, wire.request('send', { text: 'ok' }), longest)).text()
      expect(heard).toEqual(['ok'])
    },
  )

  test('is invalid through OpenAI’s API', async () => {
    const { url } = await serve(defineAgent({ name: 'Ear' }, () => 'heard'))
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] })
    const headers = { 'idempotency-key': 'k'.repeat(257) }
    const { status, json } = await post(`${url}/v1/chat/completions`, body, headers)
    expect(status).toBe(400)
    expect(json.error.message).toContain('The Idempotency-Key header must have at most 256')
  })
})

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
