import { describe, expect, test } from 'vitest'
import { ValidationError } from '../../src/eval/base.ts'
import {
  checkMetrics,
  latencySpread,
  type ProtocolMetrics,
  summarise,
  toDict,
  toMetricsArray,
  toMetricsDocument,
  toMetricsLine,
} from '../../src/eval/metrics.ts'

/** The seed's example, word for word. */
const exported = `{
  "task_id": "airline_001",
  "agent_type": "a2a_agent",
  "protocol_metrics": [
    {
      "request_id": "req-uuid-1",
      "endpoint": "https://agent.example.com",
      "method": "POST",
      "status_code": 200,
      "latency_ms": 1234.56,
      "input_tokens": 456,
      "output_tokens": 123,
      "context_id": "ctx-abc123",
      "timestamp": "2025-11-23T10:30:45.123Z"
    }
  ],
  "summary": {
    "total_requests": 5,
    "total_tokens": 2890,
    "total_latency_ms": 6789.12,
    "avg_latency_ms": 1357.82,
    "error_count": 0
  }
}`

const [first] = JSON.parse(exported).protocol_metrics as ProtocolMetrics[] // the example above

const request = (
  id: number,
  latency_ms: number,
  input: number,
  output: number,
): ProtocolMetrics => ({
  request_id: `req-uuid-${id}`,
  endpoint: 'https://agent.example.com',
  method: 'POST',
  status_code: 200,
  latency_ms,
  input_tokens: input,
  output_tokens: output,
  context_id: 'ctx-abc123',
  timestamp: '2025-11-23T10:30:46.000Z',
})

const five = [
  ...(first ? [first] : []),
  request(2, 1388.64, 500, 77),
  request(3, 1388.64, 500, 78),
  request(4, 1388.64, 500, 78),
  request(5, 1388.64, 500, 78),
]

describe('AT-12 metrics export', () => {
  test('gives the document of the seed after five requests, its keys in order', () => {
    const document = toMetricsDocument('airline_001', five)
    expect(document.protocol_metrics).toHaveLength(5)
    const shown = { ...document, protocol_metrics: document.protocol_metrics.slice(0, 1) }
    expect(JSON.stringify(shown, null, 2)).toBe(exported)
  })

  test('rounds latencies to two decimals and leaves out what is not known', () => {
    const dict = toDict({
      request_id: 'r',
      endpoint: 'http://a',
      method: 'GET',
      latency_ms: 1.23456,
      timestamp: '2025-11-23T10:30:45.123Z',
      error: 'HTTP 500',
    })
    expect(JSON.stringify(dict)).toBe(
      '{"request_id":"r","endpoint":"http://a","method":"GET","latency_ms":1.23,"error":"HTTP 500","timestamp":"2025-11-23T10:30:45.123Z"}',
    )
  })

  test('adds a cost only where a price is known', () => {
    expect(summarise(five)).not.toHaveProperty('estimated_cost_usd')
    const price = { input_per_million: 10, output_per_million: 100 }
    expect(summarise(five, price).estimated_cost_usd).toBe(0.06796)
  })

  test('writes JSON Lines for streams and an array for batches', () => {
    const lines = five
      .map((record) => toMetricsLine({ ...record, task_id: 'airline_001' }))
      .join('')
    expect(
      lines
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(five.map((record) => ({ task_id: 'airline_001', ...record })))
    expect(JSON.parse(toMetricsArray(five))).toEqual(five)
  })
})

describe('metrics', () => {
  test('of nothing are zero', () => {
    expect(summarise([])).toEqual({
      total_requests: 0,
      total_tokens: 0,
      total_latency_ms: 0,
      avg_latency_ms: 0,
      error_count: 0,
    })
    expect(latencySpread([])).toEqual({ p50_latency_ms: 0, p95_latency_ms: 0, max_latency_ms: 0 })
  })

  test('show median, 95th percentile and maximum by nearest rank', () => {
    const records = Array.from({ length: 100 }, (_, i) => request(i, i + 1, 0, 0))
    expect(latencySpread(records)).toEqual({
      p50_latency_ms: 50,
      p95_latency_ms: 95,
      max_latency_ms: 100,
    })
  })

  test('refuse what cannot be', () => {
    const broken: Partial<ProtocolMetrics>[] = [
      { latency_ms: -1 },
      { status_code: 99 },
      { status_code: 600 },
      { input_tokens: -1 },
      { output_tokens: -1 },
      { error: '' },
    ]
    for (const part of broken)
      expect(() => checkMetrics({ ...request(1, 1, 1, 1), ...part })).toThrow(ValidationError)
    expect(checkMetrics(request(1, 0, 0, 0)).latency_ms).toBe(0)
  })
})
