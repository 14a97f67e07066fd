import fc from 'fast-check'
import type {
  Artifact,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from '../../../src/protocol/types.ts'

/** Canonical values as the engine makes them: no null members, timestamps in UTC with milliseconds. */

const id = fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/)

const metadata = fc
  .dictionary(
    fc.stringMatching(/^[a-z]{1,6}$/),
    fc.oneof(fc.string(), fc.integer(), fc.boolean()),
    { minKeys: 1 },
  )
  .map((value): JsonObject => value)

const states: readonly TaskState[] = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
]

const timestamp = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString())

const file = { filename: fc.string(), mediaType: fc.constantFrom('image/png', 'text/plain') }

/** A part; text and data parts without the details that only 1.0 has. */
export const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ text: fc.string(), metadata }, { requiredKeys: ['text'] }),
  fc.record(
    { raw: fc.base64String({ minLength: 4 }), metadata, ...file },
    { requiredKeys: ['raw'] },
  ),
  fc.record({ url: fc.webUrl(), metadata, ...file }, { requiredKeys: ['url'] }),
  fc.record(
    {
      data: fc.oneof(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.integer()),
        fc.integer(),
        fc.string(),
        fc.constant(null),
        fc.array(fc.boolean()),
      ),
      metadata,
    },
    { requiredKeys: ['data'] },
  ),
)

const parts = fc.array(part, { minLength: 1, maxLength: 3 })

/** A message. */
export const message: fc.Arbitrary<Message> = fc.record(
  {
    messageId: id,
    role: fc.constantFrom('ROLE_USER' as const, 'ROLE_AGENT' as const),
    parts,
    contextId: id,
    taskId: id,
    metadata,
    extensions: fc.array(fc.webUrl(), { maxLength: 2 }),
    referenceTaskIds: fc.array(id, { maxLength: 2 }),
  },
  { requiredKeys: ['messageId', 'role', 'parts'] },
)

const status: fc.Arbitrary<TaskStatus> = fc.record(
  { state: fc.constantFrom(...states), message, timestamp },
  { requiredKeys: ['state'] },
)

const artifact: fc.Arbitrary<Artifact> = fc.record(
  {
    artifactId: id,
    name: fc.string(),
    description: fc.string(),
    parts,
    metadata,
    extensions: fc.array(fc.webUrl(), { maxLength: 2 }),
  },
  { requiredKeys: ['artifactId', 'parts'] },
)

/** A task. */
export const task: fc.Arbitrary<Task> = fc.record(
  {
    id,
    contextId: id,
    status,
    artifacts: fc.array(artifact, { maxLength: 2 }),
    history: fc.array(message, { maxLength: 2 }),
    metadata,
  },
  { requiredKeys: ['id', 'contextId', 'status'] },
)

/** An event of a stream. */
export const event: fc.Arbitrary<StreamResponse> = fc.oneof(
  fc.record({ task }),
  fc.record({ message }),
  fc.record({
    statusUpdate: fc.record(
      { taskId: id, contextId: id, status, metadata },
      { requiredKeys: ['taskId', 'contextId', 'status'] },
    ),
  }),
  fc.record({
    artifactUpdate: fc.record(
      {
        taskId: id,
        contextId: id,
        artifact,
        append: fc.constant(true as const),
        lastChunk: fc.constant(true as const),
        metadata,
      },
      { requiredKeys: ['taskId', 'contextId', 'artifact'] },
    ),
  }),
)
