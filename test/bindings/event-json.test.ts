import { expect, test } from 'vitest'
import { createEventJson } from '../../src/bindings/sse.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import { task } from './scripted.ts'

test('the JSON of an event is written once for all who watch, and once per way of opening', () => {
  let written = 0
  const json = createEventJson((event, opening) => {
    written += 1
    return { event, opening }
  })
  const event: StreamResponse = { task }
  for (let watcher = 0; watcher < 5_000; watcher += 1) json('SubscribeToTask')(event)
  expect(written).toBe(1)
  json('SendStreamingMessage')(event)
  json('SubscribeToTask')({ task })
  expect(written).toBe(3)
})
