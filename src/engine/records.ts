import type { TaskPushNotificationConfig } from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type { LogRecord, PushConfigRecord, RecordDraft } from '../store/store.ts'

/** A record with all its members, so that one which is added to a kind cannot be forgotten here. */
type Whole<Kind extends LogRecord['kind']> = Required<Extract<LogRecord, { kind: Kind }>>

/** A draft at its place in the log. The usual kinds are written out: a spread costs more than all else about a record. */
export function toRecord(draft: RecordDraft, seq: number): LogRecord {
  switch (draft.kind) {
    case 'message':
      return {
        seq,
        kind: 'message',
        turn: draft.turn,
        message: draft.message,
        request: draft.request,
      } satisfies Whole<'message'>
    case 'step':
      return {
        seq,
        kind: 'step',
        turn: draft.turn,
        name: draft.name,
        result: draft.result,
      } satisfies Whole<'step'>
    case 'trace':
      return { seq, kind: 'trace', at: draft.at, entry: draft.entry } satisfies Whole<'trace'>
    case 'start':
      if (!draft.deaths)
        return {
          seq,
          kind: 'start',
          turn: draft.turn,
          attempt: draft.attempt,
        } satisfies Omit<Whole<'start'>, 'deaths'>
  }
  return { seq, ...draft } as LogRecord // a draft lacks nothing else; TypeScript loses the union in the spread
}

/** A webhook as it is stored, but for its place in the log. */
export function toPushRecord(
  config: TaskPushNotificationConfig,
  { taskId, agent, dialect }: Pick<PushConfigRecord, 'taskId' | 'agent' | 'dialect'>,
): Omit<PushConfigRecord, 'cursor'> {
  const id = config.id || newId()
  const { events } = config
  const record = { taskId, id, config: { ...config, id, taskId }, dialect, agent }
  return events ? { ...record, events } : record
}
