import type { SendOptions } from '../../client/index.ts'
import { hopsExtension } from '../../protocol/extensions.ts'
import type { Message, SendMessageRequest } from '../../protocol/types.ts'
import type { Turn } from '../agent.ts'
import { digestOf } from '../digest.ts'
import { ownFault } from './faults.ts'
import { type Contexts, loadRemote, type Sends } from './memory.ts'

/** What is known where a message leaves for a remote agent. */
export interface Departure {
  /** Where the remote task is remembered in our task's log. */
  readonly key: string
  readonly endpoint: string
  readonly contexts: Contexts
  readonly sends: Sends
}

/** A message that is ready to go, and what surrounds its call. */
export interface Outgoing {
  readonly request: SendMessageRequest
  readonly options: Omit<SendOptions, 'signal'>
  /** Names what is asked, to know it again after a crash. */
  readonly digest: string
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
  const continued = known?.phase === 'waiting' ? known : undefined
  const contextId = continued?.contextId ?? contexts.get(turn)
  const { messageId, parts, metadata, extensions } = message
  const send = JSON.stringify([key, turn.taskId, messageId])
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
      idempotencyKey: await digestOf(`${send}#${sends.next(send)}`),
      ...(turn.traceparent !== undefined && { traceparent: turn.traceparent }),
      ...(extensions && { extensions: extensions.filter(isHeaderSafe) }),
    },
    digest: await digestOf(parts),
  }
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
