import {
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'

/** What a span says of one call to a member. */
interface SpanFacts {
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number>>
  /** The W3C trace context of the caller. */
  readonly traceparent: string | undefined
}

/**
 * Runs work in a span below the caller's, and gives it the trace context to pass on. Without an OpenTelemetry SDK in
 * the process no span is made and the caller's own context is passed on.
 */
export async function withSpan<T>(
  facts: SpanFacts,
  work: (traceparent: string | undefined, span: Span) => Promise<T>,
): Promise<T> {
  const parent = toContext(facts.traceparent)
  const options = { attributes: { ...facts.attributes } }
  const span = trace.getTracer('corral').startSpan(facts.name, options, parent)
  const inside = trace.setSpan(parent, span)
  try {
    return await context.with(inside, () =>
      work(toTraceparent(span.spanContext()) ?? facts.traceparent, span),
    )
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR })
    if (error instanceof Error) span.recordException(error)
    throw error
  } finally {
    span.end()
  }
}

const format = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

function toContext(traceparent: string | undefined): Context {
  const match = format.exec(traceparent ?? '')
  const [, traceId, spanId, flags] = match ?? []
  if (!traceId || !spanId || !flags) return context.active()
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  })
}

function toTraceparent({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}
