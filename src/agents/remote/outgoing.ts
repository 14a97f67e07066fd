import type { SendOptions } from '../../client/config.ts'
import { hopsExtension } from '../../protocol/extensions.ts'
import type { Message, SendMessageRequest } from '../../protocol/types.ts'
import { digestOf } from '../../shared/ids.ts'
import type { Turn } from '../agent.ts'
import { withSchemaInWords } from '../output/tries.ts'
import { ownFault } from './faults.ts'
import {
  isBegunBy,
  loadRemote,
  type RemoteContexts,
  type RemoteTask,
  type Sends,
} from './memory.ts'

/** What is known where a message leaves for a remote agent. */
export interface Departure {
  /** Where the remote task is remembered in our task's log. */
  readonly key: string
  readonly endpoint: string
  readonly contexts: RemoteContexts
  readonly sends: Sends
}

/** A message that is ready to go, and what surrounds its call. */
export interface Outgoing {
  readonly request: SendMessageRequest
  readonly options: Omit<SendOptions, 'signal'> & { readonly idempotencyKey: string }
  /** The remote task that this message began, or went on with, before a crash. */
  readonly begun: RemoteTask | undefined
  /** The send was interrupted by us: the next one of this message goes on with it. */
  interrupted(): void
}

/** Beyond this many agents a message goes round in circles, whatever their names. */
const maxHops = 32

/**
 * Prepares our message for the remote: in the remote's context, to the remote's task where it answers a question, with
 * the hops so far. Its `Idempotency-Key` is the same when a turn runs again after a crash, and another when a team
 * tries again on purpose.
 *
 * @throws A2AError `unsupportedOperation` for a message that has passed this remote before.
 */
export async function prepare(
  message: Message,
  turn: Turn,
  departure: Departure,
): Promise<Outgoing> {
  const { key, contexts, sends } = departure
  const hops = await nextHops(turn, departure.endpoint)
  const known = loadRemote(turn, key)
  const send = JSON.stringify([key, turn.taskId, message.messageId])
  const count = sends.next(send)
  // What this process has sent before is tried again on purpose; what another one sent is gone on with.
  const begun = count === 1 && known && isBegunBy(known, message, turn) ? known : undefined
  const continued = known?.phase === 'waiting' && !begun ? known : undefined
  const contextId = continued?.contextId ?? (await contexts.get(turn))
  const { messageId, metadata, extensions } = message
  const { outputSchema: schema } = turn
  // What answers a question, such as an approval's, must stay the word that it is.
  const parts = schema && !continued ? withSchemaInWords(message.parts, schema) : message.parts
  return {
    request: {
      message: {
        messageId,
        role: 'ROLE_USER',
        parts,
        ...(contextId !== undefined && { contextId }),
        ...(continued && { taskId: continued.taskId }),
        metadata: { ...metadata, [hopsExtension]: hops },
        ...(extensions && { extensions }),
      },
    },
    options: {
      idempotencyKey: await digestOf(`${send}#${count}`),
      ...(turn.traceparent !== undefined && { traceparent: turn.traceparent }),
      ...(extensions && { extensions: extensions.filter(isHeaderSafe) }),
    },
    begun,
    interrupted: () => sends.forget(send),
  }
}

/** Whether a message makes a task at the remote, as far as we know. */
export function beginsTask({ begun, request }: Outgoing): boolean {
  return !begun && request.message.taskId === undefined
}

/** By URL, because ids need not be unique in the world; hashed, because our URLs are nobody else's matter. */
async function nextHops(turn: Turn, endpoint: string): Promise<readonly string[]> {
  const hop = `a2a:${await digestOf(new URL(endpoint).href)}`
  if (turn.hops.includes(hop) || turn.hops.length >= maxHops)
    throw ownFault('unsupportedOperation', 'The message has come back to an agent it passed')
  return [...turn.hops, hop]
}

/** A message's extensions are its sender's words; only those that can stand in a list of URIs go into a header. */
function isHeaderSafe(uri: string): boolean {
  return /^[\x21-\x2b\x2d-\x7e]+$/.test(uri)
}
