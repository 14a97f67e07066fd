import { historyExtension } from '../../protocol/extensions.ts'
import type { Json, JsonObject } from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'
import type { GuardCheck } from './check.ts'

/**
 * The metadata of a message with what guards leave of the earlier turns that its client sends along. Nobody knows whether
 * they were ever said, so each is looked at, whoever is said to have said it. Where a guard would put something in their
 * place they are left out.
 * @throws ContentBlocked
 */
export async function guardHistory(check: GuardCheck, metadata: JsonObject): Promise<JsonObject> {
  const history = metadata[historyExtension]
  if (!isFields(history) || !Array.isArray(history.messages)) return metadata
  const given: readonly Json[] = history.messages
  const messages = given.map((message) => cleaned(check, message))
  const isKept = !check.decides || (await passes(check, messages))
  return { ...metadata, [historyExtension]: { ...history, messages: isKept ? messages : [] } }
}

function cleaned(check: GuardCheck, message: Json): Json {
  if (!isFields(message) || typeof message.content !== 'string') return message
  return { ...message, content: check.words(message.content) }
}

async function passes(check: GuardCheck, messages: readonly Json[]): Promise<boolean> {
  const texts = messages.flatMap((message) =>
    isFields(message) && typeof message.content === 'string' ? [message.content] : [],
  )
  if (texts.length === 0) return true
  const given = [{ text: texts.join('\n\n') }]
  return (await check.parts(given, 'history')) === given
}
