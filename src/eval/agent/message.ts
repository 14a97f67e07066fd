import type { Message, Part } from '../../protocol/types.ts'
import { ValidationError } from '../base/errors.ts'
import { isObject } from '../base/json.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Seed 001's A2AMessage is the protocol's Message; `role` "user"/"agent" is ROLE_USER/ROLE_AGENT inside. */
export type A2AMessage = Message

/**
 * Checks a message that we are about to send against the seed's rules (S001-21…24, 31…33). What others send is read
 * more leniently: foreign ids are opaque and an empty text beside other content is no fault (C-13).
 *
 * @throws ValidationError naming the first rule broken.
 */
export function checkOutgoing(message: A2AMessage): A2AMessage {
  if (!uuid.test(message.messageId)) throw new ValidationError('message_id must be a UUID')
  if (message.role !== 'ROLE_USER' && message.role !== 'ROLE_AGENT')
    throw new ValidationError('role must be "user" or "agent"')
  if (message.parts.length === 0) throw new ValidationError('parts must hold at least one part')
  if (message.contextId === '') throw new ValidationError('context_id must be a non-empty string')
  message.parts.forEach(checkPart)
  return message
}

function checkPart(part: Part, index: number): void {
  const contents = ['text', 'data', 'raw', 'url'].filter((member) => member in part)
  if (contents.length !== 1)
    throw new ValidationError(`parts[${index}] must hold exactly one of text, data, file`)
  if ('text' in part && part.text === '')
    throw new ValidationError(`parts[${index}].text must not be empty`)
  if ('data' in part && !isObject(part.data))
    throw new ValidationError(`parts[${index}].data must be a JSON object`)
}
