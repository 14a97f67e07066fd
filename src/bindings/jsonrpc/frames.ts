import type { Sequenced } from '../../protocol/call.ts'
import { toA2AError } from '../../protocol/errors.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { EventWriter } from '../event-body.ts'
import type { EventJson } from '../event-json.ts'
import { encodeFrame } from '../sse.ts'
import { failureText, idText, type RpcId } from './envelope.ts'

/** Events as JSON-RPC responses that all carry the id of the request (specification §9.4.2). */
export function createEnvelopeWriter(options: {
  readonly dialect: Dialect
  readonly json: EventJson
  readonly id: RpcId
}): EventWriter {
  const { dialect, json, id } = options
  const tail = `,"id":${idText(id)}}\n\n`
  return {
    write: (batch) => {
      let text = ''
      for (const { seq, event } of batch) {
        if (seq !== undefined) text += `id: ${seq}\n`
        text += `data: {"jsonrpc":"2.0","result":${json(event)}${tail}`
      }
      return text
    },
    fail: (thrown) => {
      const error = JSON.stringify(dialect.encodeError(toA2AError(thrown)))
      return encodeFrame({ event: 'error', data: failureText(id, error) })
    },
  }
}

const names = {
  task: 'task',
  message: 'message',
  statusUpdate: 'task-status-update',
  artifactUpdate: 'task-artifact-update',
}

/** Events by RANCH's names, without an envelope: `/stream`. */
export function createNamedWriter(dialect: Dialect, json: EventJson): EventWriter {
  return {
    write: (batch) => batch.map((item) => namedFrame(item, json)).join(''),
    fail: (thrown) => {
      const error = dialect.encodeError(toA2AError(thrown))
      return encodeFrame({ event: 'error', data: JSON.stringify({ error }) })
    },
  }
}

function namedFrame({ seq, event }: Sequenced, json: EventJson): string {
  const name = memberName(event)
  return encodeFrame({
    data: json(event),
    event: names[name],
    ...(seq === undefined ? {} : { id: String(seq) }),
  })
}

function memberName(event: Sequenced['event']): keyof typeof names {
  if ('task' in event) return 'task'
  if ('message' in event) return 'message'
  return 'statusUpdate' in event ? 'statusUpdate' : 'artifactUpdate'
}
