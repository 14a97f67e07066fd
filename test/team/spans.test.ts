import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { member } from '../fixtures/members.ts'
import { answerText, connect, remote, serve, teamOf } from './scene.ts'
import { serveSdkMember } from './sdk-member.ts'

/** A span as the process's SDK would keep it. */
interface Recorded {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly attributes: Readonly<Record<string, unknown>>
  failed: boolean
  ended: boolean
}

let spans: Recorded[] = []

beforeEach(() => {
  spans = []
  const store = new AsyncLocalStorage<Context>()
  context.setGlobalContextManager({
    active: () => store.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...args) => store.run(active, () => work.call(self, ...args)),
    bind: (_active, target) => target,
    enable: () => context as never, // nobody chains on it
    disable: () => context as never, // nor on this
  })
  trace.setGlobalTracerProvider({ getTracer: () => recorder })
})

afterEach(() => {
  trace.disable()
  context.disable()
})

const recorder: Tracer = {
  startSpan(name, options, parentContext = context.active()) {
    const parent = trace.getSpanContext(parentContext)
    const spanId = String(spans.length + 1).padStart(16, '0')
    const traceId = parent?.traceId ?? 'c'.repeat(32)
    const record: Recorded = {
      name,
      traceId,
      spanId,
      parentId: parent?.spanId,
      attributes: { ...options?.attributes },
      failed: false,
      ended: false,
    }
    spans.push(record)
    const base = trace.wrapSpanContext({ traceId, spanId, traceFlags: 1 })
    const span: Span = Object.assign(Object.create(base), {
      setStatus({ code }: { code: SpanStatusCode }) {
        record.failed = code === SpanStatusCode.ERROR
        return span
      },
      end() {
        record.ended = true
      },
    })
    return span
  },
  startActiveSpan: () => undefined as never, // only startSpan is used
}

const traceId = 'a'.repeat(32)
const caller = `00-${traceId}-${'b'.repeat(16)}-01`

function named(name: string): Recorded | undefined {
  return spans.find((span) => span.name === name)
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
    expect(spans.every(({ ended }) => ended)).toBe(true)
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

  test('of a member that fails say so', async () => {
    const broken = member('broken', () => {
      throw new Error('no')
    })
    const client = connect(await serve(teamOf({ broken })))
    await client.sendMessage('x')
    expect(named('delegate broken')).toMatchObject({ failed: true, ended: true })
  })
})
