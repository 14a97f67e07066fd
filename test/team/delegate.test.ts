import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { userMessage } from '../../src/protocol/task.ts'
import { member } from '../fixtures/members.ts'
import { answerText, connect, remote, serve, teamOf } from './scene.ts'
import { serveSdkMember } from './sdk-member.ts'

/** The SDK that users bring, with an exporter that keeps what it gets: only spans that ended are exported. */
let exporter: InMemorySpanExporter

let provider: NodeTracerProvider

beforeEach(() => {
  exporter = new InMemorySpanExporter()
  provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider.register()
})

afterEach(async () => {
  await provider.shutdown()
  trace.disable()
  context.disable()
  propagation.disable()
})

const traceId = 'a'.repeat(32)

const caller = `00-${traceId}-${'b'.repeat(16)}-01`

/** What the tests look at in an exported span. */
interface Exported {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly attributes: ReadableSpan['attributes']
  readonly failed: boolean
  readonly exceptions: readonly unknown[]
}

function named(name: string): Exported | undefined {
  const span = exporter.getFinishedSpans().find((item) => item.name === name)
  return (
    span && {
      traceId: span.spanContext().traceId,
      spanId: span.spanContext().spanId,
      parentId: span.parentSpanContext?.spanId,
      attributes: span.attributes,
      failed: span.status.code === SpanStatusCode.ERROR,
      exceptions: span.events.map(({ attributes }) => attributes?.['exception.message']),
    }
  )
}

describe('spans', () => {
  test('of nested teams hang below one another and below the caller’s, across HTTP', async () => {
    const leaf = member('leaf')
    const far = await serve(teamOf({ leaf }, 'far'))
    const inner = teamOf({ gate: remote(far, 'gate') }, 'inner')
    const client = connect(await serve(teamOf({ inner }, 'outer')))
    const answer = await client.sendMessage('x', { traceparent: caller })
    expect(answerText(answer)).toBe('leaf(x)')
    const [outer, gate, last] = [
      named('delegate inner'),
      named('delegate gate'),
      named('delegate leaf'),
    ]
    expect(outer).toMatchObject({ traceId, parentId: 'b'.repeat(16) })
    expect(gate).toMatchObject({ traceId, parentId: outer?.spanId })
    expect(last).toMatchObject({ traceId, parentId: gate?.spanId })
    expect(gate?.attributes).toMatchObject({ 'corral.team': 'inner', 'corral.member': 'gate' })
    expect(leaf.turns[0]?.traceparent).toBe(`00-${traceId}-${last?.spanId}-01`)
    expect(exporter.getFinishedSpans()).toHaveLength(3)
  })

  test('put their context into the header that a remote member gets', async () => {
    const sdk = await serveSdkMember()
    const client = connect(await serve(teamOf({ sdk: remote(sdk.url, 'sdk') })))
    await client.sendMessage('x', { traceparent: caller })
    const span = named('delegate sdk')
    expect(sdk.headers.map(({ traceparent }) => traceparent)).toContain(
      `00-${traceId}-${span?.spanId}-01`,
    )
  })

  test('of a run without a traced caller hang below what is active in the process', async () => {
    const team = teamOf({ leaf: member('leaf') })
    await trace.getTracer('app').startActiveSpan('request', async (span) => {
      await team.process(userMessage('x'))
      span.end()
    })
    expect(named('delegate leaf')?.parentId).toBe(named('request')?.spanId)
  })

  test('of a member that fails say so', async () => {
    const broken = member('broken', () => {
      throw new Error('no')
    })
    const client = connect(await serve(teamOf({ broken })))
    await client.sendMessage('x')
    expect(named('delegate broken')).toMatchObject({ failed: true, exceptions: ['no'] })
  })
})
