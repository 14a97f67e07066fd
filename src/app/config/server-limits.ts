import { z } from 'zod'
import { type LimitOptions, limitDefaults } from '../../server/limits.ts'
import { defaultWindowSeconds } from '../../server/rate-limit.ts'
import { described } from './described.ts'
import { whenGiven } from './values.ts'

const count = z.int().min(1).optional()

const limitsTable = z.strictObject({
  requests: described(count, {
    description:
      'Requests of one caller per `window_seconds`; beyond it 429 with `Retry-After`. No limit if absent.',
    examples: [600],
  }),
  window_seconds: described(count, {
    description: 'The window of `requests`, in seconds.',
    default: defaultWindowSeconds,
    examples: [10],
  }),
  max_body_bytes: described(count, {
    description: 'The largest body of a request, in bytes; beyond it 413.',
    default: limitDefaults.maxBodyBytes,
    examples: [1_048_576],
  }),
  max_concurrent_turns: described(count, {
    description:
      'Turns of agents at once, of one caller half as many; beyond it a task waits as SUBMITTED. A turn that waits for a remote agent, a model or an MCP tool does not count.',
    default: limitDefaults.maxConcurrentTurns,
    examples: [256],
  }),
  max_waiting_per_principal: described(count, {
    description: 'Messages of one caller that wait for their turn; beyond it 429.',
    default: limitDefaults.maxWaitingPerPrincipal,
    examples: [100],
  }),
  max_connections: described(count, {
    description:
      'Open connections; beyond it the address that holds most loses its longest idle one, else its oldest stream.',
    default: limitDefaults.maxConnections,
    examples: [2000],
  }),
  max_task_bytes: described(count, {
    description: 'What one task may hold, in bytes; beyond it the task is FAILED.',
    default: limitDefaults.maxTaskBytes,
    examples: [8_388_608],
  }),
  max_task_events: described(count, {
    description: 'Events that one task may have; beyond it the task is FAILED.',
    default: limitDefaults.maxTaskEvents,
    examples: [10_000],
  }),
  max_push_configs: described(count, {
    description: 'Webhooks of one task; beyond it the request is refused.',
    default: limitDefaults.maxPushConfigs,
    examples: [3],
  }),
  max_context_bytes: described(count, {
    description: 'The values that one context keeps, in bytes; beyond it the step fails.',
    default: limitDefaults.maxContextBytes,
    examples: [65_536],
  }),
  max_depth: described(count, {
    description: 'How deep the JSON of a request may nest; beyond it the request is refused.',
    default: limitDefaults.maxDepth,
    examples: [32],
  }),
  max_parts: described(count, {
    description: 'Parts of one message; beyond it the request is refused.',
    default: limitDefaults.maxParts,
    examples: [100],
  }),
  max_metadata_keys: described(count, {
    description: 'Keys in the metadata of a request, nested ones too; beyond it it is refused.',
    default: limitDefaults.maxMetadataKeys,
    examples: [100],
  }),
  write_timeout_seconds: described(count, {
    description:
      'How long a reader may take nothing of its reply, in seconds; then its connection is cut.',
    default: limitDefaults.writeTimeoutSeconds,
    examples: [30],
  }),
  max_inflight_body_bytes: described(count, {
    description:
      'Bodies that are being read, all together, in bytes, at most 1/16 of the heap; beyond it 503 before more is read.',
    default: limitDefaults.maxInflightBodyBytes,
    examples: [33_554_432],
  }),
  max_queued_bytes: described(count, {
    description:
      'Messages that wait or run, all together, in bytes, at most 1/8 of the heap, of one caller a quarter; beyond it 503.',
    default: limitDefaults.maxQueuedBytes,
    examples: [67_108_864],
  }),
  max_live_bytes: described(count, {
    description:
      'What all tasks that run hold together, in bytes, at most 1/8 of the heap, of one caller half; beyond it the task that grows is FAILED.',
    default: limitDefaults.maxLiveBytes,
    examples: [134_217_728],
  }),
  max_unread_bytes: described(count, {
    description:
      'Replies above 64 KiB that their readers have not taken, in bytes, at most 1/8 of the heap, of one caller a quarter; beyond it 503, and streams are cut off.',
    default: limitDefaults.maxUnreadBytes,
    examples: [67_108_864],
  }),
  memory_store_bytes: described(count, {
    description:
      'Tasks that `store = "memory"` keeps, in bytes, at most 1/4 of the heap; beyond it the oldest of whoever keeps most go.',
    default: limitDefaults.memoryStoreBytes,
    examples: [67_108_864],
  }),
})

/** `[server.limits]`: how much is too much. */
export const limitsSchema: z.ZodType<LimitOptions> = limitsTable.transform((limits) => ({
  ...whenGiven('requests', limits.requests),
  ...whenGiven('windowSeconds', limits.window_seconds),
  ...whenGiven('maxBodyBytes', limits.max_body_bytes),
  ...whenGiven('maxInflightBodyBytes', limits.max_inflight_body_bytes),
  ...whenGiven('maxQueuedBytes', limits.max_queued_bytes),
  ...whenGiven('maxWaitingPerPrincipal', limits.max_waiting_per_principal),
  ...whenGiven('maxConcurrentTurns', limits.max_concurrent_turns),
  ...whenGiven('maxConnections', limits.max_connections),
  ...whenGiven('maxTaskBytes', limits.max_task_bytes),
  ...whenGiven('maxTaskEvents', limits.max_task_events),
  ...whenGiven('maxLiveBytes', limits.max_live_bytes),
  ...whenGiven('maxUnreadBytes', limits.max_unread_bytes),
  ...whenGiven('maxPushConfigs', limits.max_push_configs),
  ...whenGiven('maxContextBytes', limits.max_context_bytes),
  ...whenGiven('memoryStoreBytes', limits.memory_store_bytes),
  ...whenGiven('writeTimeoutSeconds', limits.write_timeout_seconds),
  ...whenGiven('maxDepth', limits.max_depth),
  ...whenGiven('maxParts', limits.max_parts),
  ...whenGiven('maxMetadataKeys', limits.max_metadata_keys),
}))
