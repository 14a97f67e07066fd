import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { receiveCard } from '../../src/bindings/client-wire.ts'
import { type EventStream, operations } from '../../src/protocol/operations.ts'
import { parseResult, parseStreamResponse } from '../../src/protocol/schema.ts'
import { requests } from '../bindings/full.ts'
import { serveSdkAgent } from '../client/sdk-agent.ts'
import { pythonAnswers } from './python-answers.ts'
import { all, open, type Recorded, record, recordCard, replay } from './recording.ts'
import { serveSdk03Agent } from './sdk03-agent.ts'

/**
 * What real peers answered once, and how our client reads it. `RECORD_PEERS=1` asks the SDKs again and writes the files.
 */

const fileOf = (peer: string): string =>
  fileURLToPath(new URL(`../fixtures/peers/${peer}.json`, import.meta.url))

const peers: Readonly<Record<string, () => Promise<readonly Recorded[]>>> = {
  'a2a-js-1.3': async () => {
    const { url } = await serveSdkAgent()
    return [
      await recordCard(url, '1.0'),
      await recordCard(url),
      ...(await record('JSONRPC 1.0', `${url}/rpc`)),
      ...(await record('HTTP+JSON 1.0', `${url}/rest`)),
      ...(await record('JSONRPC 0.3', `${url}/rpc`)),
      ...(await record('HTTP+JSON 0.3', `${url}/rest`)),
    ]
  },
  'a2a-js-0.3': async () => {
    const url = await serveSdk03Agent()
    return [
      await recordCard(url),
      ...(await record('JSONRPC 0.3', `${url}/rpc`)),
      ...(await record('HTTP+JSON 0.3', `${url}/rest`)),
    ]
  },
}

describe.runIf(process.env.RECORD_PEERS === '1').each(Object.entries(peers))('%s', (peer, ask) => {
  test('is recorded', async () => {
    const file = fileOf(peer)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${JSON.stringify(await ask(), null, 2)}\n`)
  })
})

function recordedOf(peer: string): readonly Recorded[] {
  if (peer === 'a2a-python') return pythonAnswers
  return existsSync(fileOf(peer)) ? JSON.parse(readFileSync(fileOf(peer), 'utf8')) : []
}

/** What our client makes of a recorded answer. */
async function read(recorded: Recorded): Promise<unknown> {
  const { wire, operation } = recorded
  if (wire === 'card' || operation === undefined) return receiveCard(JSON.parse(recorded.body))
  const dispatch = open(wire, 'http://peer.example', replay(recorded))
  const result = await dispatch(operation, requests[operations[operation].takes] as never, {}) // of the operation's kind
  return operations[operation].stream ? all(result as EventStream) : result // the row says so
}

describe.each([...Object.keys(peers), 'a2a-python'])('an answer of %s', (peer) => {
  const recorded = recordedOf(peer).map(
    (one, i) => [i, one.wire, one.operation ?? '', one] as const,
  )

  test('was recorded for every operation', () => {
    expect(new Set(recorded.map(([, , operation]) => operation)).size).toBeGreaterThanOrEqual(10)
  })

  test.each(recorded)('%s: %s %s is read, and is as strict as our own', async (_, __, ___, one) => {
    const result = await read(one)
    const name = one.operation ?? 'GetExtendedAgentCard'
    if (!operations[name].stream) return expect(parseResult(name, result)).toEqual(result)
    const events = result as readonly unknown[] // as read
    expect(events.length).toBeGreaterThan(0)
    expect(events.map(parseStreamResponse)).toEqual(events)
  })
})
