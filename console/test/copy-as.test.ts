import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import type { Message } from '../../src/protocol/types.ts'
import { asCorral, asCurl, asTypeScript } from '../logic/copy-as.ts'
import { toJsonTokens } from '../logic/json-tokens.ts'

const words = `it's "$HOME" \`date\` \\ and\nmore`
const message: Message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: words }] }
const agentUrl = 'http://localhost:3000/agents/echo'

/** The words that a shell makes of a command. */
function wordsOf(command: string): readonly string[] {
  const print = `printf '%s\\0' ${command.slice(command.indexOf(' '))}`
  return execFileSync('sh', ['-c', print], { encoding: 'utf8' }).split('\0').slice(0, -1)
}

describe('Copy as', () => {
  test('curl says to a shell exactly what was said to the agent', () => {
    const given = wordsOf(asCurl({ agentUrl, message }))
    expect(given).toContain(`${agentUrl}/v1/rpc`)
    expect(given).toContain('A2A-Version: 1.0')
    const body = JSON.parse(given.at(-1) ?? '')
    expect(body.method).toBe('SendStreamingMessage')
    expect(body.params.message.parts).toEqual([{ text: words }])
  })

  test('curl takes the request of the wire that is shown', () => {
    const headers = { 'content-type': 'application/json' }
    const request = {
      direction: 'request',
      title: 'POST http://a/x',
      headers,
      body: { a: 1 },
    } as const
    const given = wordsOf(asCurl({ agentUrl, message, request }))
    expect(given).toEqual([
      ...[
        '-N',
        '-X',
        'POST',
        'http://a/x',
        '-H',
        'content-type: application/json',
        '-d',
        '{"a":1}',
      ],
    ])
  })

  test('curl asks anew: the message has an id of its own and belongs to no task', () => {
    const sent = { ...message, taskId: 't', contextId: 'c' }
    const body = { id: 1, params: { message: sent, metadata: { messageId: 'm' } } }
    const request = {
      direction: 'request',
      title: 'POST http://a/x',
      headers: {},
      body: JSON.parse(JSON.stringify(body)),
    } as const
    for (const copied of [
      { agentUrl, message: sent },
      { agentUrl, message: sent, request },
    ]) {
      const ids = [asCurl(copied), asCurl(copied)].map((command) => {
        const { params } = JSON.parse(wordsOf(command).at(-1) ?? '')
        expect(params.message).not.toHaveProperty('taskId')
        return params.message.messageId
      })
      expect(new Set([...ids, 'm']).size).toBe(3)
    }
  })

  test('corral sends the same words', () => {
    expect(wordsOf(asCorral({ agentUrl, message }))).toEqual([
      ...['send', agentUrl, words, '--stream', '--trace'],
    ])
  })

  test('TypeScript holds the words as a literal', () => {
    expect(asTypeScript({ agentUrl, message })).toContain(`client.stream(${JSON.stringify(words)})`)
  })
})

describe('JSON in colours', () => {
  test('is the same text in pieces, keys told from strings', () => {
    const value = { 'a"b': ['x: y', -1.5e3, true, null, { nested: {} }] }
    const tokens = toJsonTokens(value)
    expect(tokens.map(({ text }) => text).join('')).toBe(JSON.stringify(value, undefined, 2))
    const of = (kind: string) => tokens.filter((one) => one.kind === kind).map(({ text }) => text)
    expect(of('key')).toEqual(['"a\\"b"', '"nested"'])
    expect(of('string')).toEqual(['"x: y"'])
    expect(of('number')).toEqual(['-1500'])
    expect(of('word')).toEqual(['true', 'null'])
  })

  test('what is too long is cut, and how much is said', () => {
    const tokens = toJsonTokens('x'.repeat(70_000))
    expect(tokens.at(-1)?.text).toContain('10,002 more characters')
  })
})
