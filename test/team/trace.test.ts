import { context, type Span, type SpanContext, type Tracer, trace } from '@opentelemetry/api'
import { afterEach, expect, test } from 'vitest'
import { defineTeam } from '../../src/team/team.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

const traceId = 'a'.repeat(32)
const callerSpan = 'b'.repeat(16)
const traceparent = `00-${traceId}-${callerSpan}-01`

function teamOf(...members: ReturnType<typeof member>[]) {
  return defineTeam({
    id: 'team',
    name: 'Team',
    agents: Object.fromEntries(members.map((one) => [one.id, one])),
    scheduler: { type: 'workflow', steps: members.map(({ id }) => ({ agentId: id })) },
    clock: createFakeClock(),
  })
}

afterEach(() => {
  trace.disable()
  context.disable()
})

test('every delegation and reply is in the trace, with place, duration and text', async () => {
  const inner = teamOf(member('leaf'))
  const outer = defineTeam({
    id: 'outer',
    name: 'Outer',
    agents: { inner },
    scheduler: { type: 'workflow', steps: [{ agentId: 'inner' }] },
    clock: createFakeClock(),
  })
  const turn = createTurn('x')
  await runTurn(outer, turn)
  const outerCall = { call: '1:inner', team: 'outer', member: 'inner', step: '1' }
  const innerCall = { call: '1:leaf', team: 'team', member: 'leaf', step: '1', at: '1:inner' }
  expect(turn.traces).toEqual([
    { type: 'delegation', ...outerCall, try: 1, text: 'x' },
    { type: 'delegation', ...innerCall, try: 1, text: 'x' },
    { type: 'reply', ...innerCall, state: 'TASK_STATE_COMPLETED', durationMs: 0, text: 'leaf(x)' },
    { type: 'reply', ...outerCall, state: 'TASK_STATE_COMPLETED', durationMs: 0, text: 'leaf(x)' },
  ])
})

test.each([
  [2_000, 'x'.repeat(2_000)],
  [2_001, `${'x'.repeat(1_999)}…`],
])('a text of %d characters is in the trace as far as there is room', async (length, text) => {
  const turn = createTurn('x')
  await runTurn(teamOf(member('a', () => 'x'.repeat(length))), turn)
  expect(turn.traces.at(-1)?.text).toBe(text)
})

test('without an OpenTelemetry SDK the caller’s trace context is passed on', async () => {
  const a = member('a')
  await runTurn(teamOf(a), createTurn('x', { traceparent }))
  expect(a.turns[0]?.traceparent).toBe(traceparent)
})

test('with one, each call is a span below the caller’s and its context is passed on', async () => {
  const spans: { name: string; parent: SpanContext | undefined; ended: boolean }[] = []
  trace.setGlobalTracerProvider({ getTracer: () => recorder(spans) })
  const a = member('a')
  await runTurn(teamOf(a), createTurn('x', { traceparent }))
  expect(spans).toEqual([
    {
      name: 'delegate a',
      parent: expect.objectContaining({ traceId, spanId: callerSpan, isRemote: true }),
      ended: true,
    },
  ])
  expect(a.turns[0]?.traceparent).toBe(`00-${traceId}-${'1'.padStart(16, '0')}-01`)
})

test.each([
  ['sampled', 1, '01'],
  ['not sampled', 0, '00'],
])('tells the member whether the trace is %s', async (_what, traceFlags, flags) => {
  const parents: (SpanContext | undefined)[] = []
  const tracer = recorder([], { traceFlags, onStart: (parent) => parents.push(parent) })
  trace.setGlobalTracerProvider({ getTracer: () => tracer })
  const a = member('a')
  const caller = `00-${traceId}-${callerSpan}-${flags}`
  await runTurn(teamOf(a), createTurn('x', { traceparent: caller }))
  expect(parents).toMatchObject([{ traceFlags }])
  expect(a.turns[0]?.traceparent).toBe(`00-${traceId}-${'1'.padStart(16, '0')}-${flags}`)
})

test('a span without an id of its own is not passed on', async () => {
  const tracer = recorder([], { spanId: '0'.repeat(16) })
  trace.setGlobalTracerProvider({ getTracer: () => tracer })
  const a = member('a')
  await runTurn(teamOf(a), createTurn('x', { traceparent }))
  expect(a.turns[0]?.traceparent).toBe(traceparent)
})

interface Recording {
  readonly traceFlags?: number
  readonly spanId?: string
  readonly onStart?: (parent: SpanContext | undefined) => void
}

function recorder(
  spans: { name: string; parent: SpanContext | undefined; ended: boolean }[],
  { traceFlags = 1, spanId: ownId, onStart }: Recording = {},
): Tracer {
  const start: Tracer['startSpan'] = (name, _options, parentContext) => {
    const parent = parentContext && trace.getSpanContext(parentContext)
    onStart?.(parent)
    const record = { name, parent, ended: false }
    spans.push(record)
    const spanId = ownId ?? String(spans.length).padStart(16, '0')
    const base = trace.wrapSpanContext({ traceId, spanId, traceFlags })
    const end = (): void => {
      record.ended = true
    }
    const span: Span = Object.assign(Object.create(base), { end })
    return span
  }
  return { startSpan: start, startActiveSpan: () => undefined as never } // only startSpan is used
}
