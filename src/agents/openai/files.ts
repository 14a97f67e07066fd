import type { Guard } from '../../network/guard.ts'
import type { Message, Part, UrlPart } from '../../protocol/types.ts'

/**
 * Images that a caller names by URL are fetched by the model's service, which may stand where the caller cannot reach:
 * so they are judged like every address that a stranger names. A `data:` URL of an image holds it and leads nowhere.
 */
export async function checkFiles(
  guard: Guard,
  message: Message,
  signal: AbortSignal,
): Promise<void> {
  for (const [index, part] of message.parts.entries()) {
    signal.throwIfAborted()
    if (isFetched(part)) await guard.resolve(part.url, `message.parts[${index}].url`)
  }
}

/** Earlier messages without the images that may not be fetched: each stays as its name alone. */
export async function withoutRefusedFiles(
  guard: Guard,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<readonly Message[]> {
  const kept: Message[] = []
  for (const message of messages) {
    // What an agent said is text to a model.
    if (message.role === 'ROLE_AGENT' || !message.parts.some(isFetched)) {
      kept.push(message)
      continue
    }
    const parts: Part[] = []
    for (const part of message.parts) {
      signal.throwIfAborted()
      const fine = !isFetched(part) || (await isAllowed(guard, part.url))
      parts.push(fine ? part : { text: `[${part.filename ?? part.mediaType}]` })
    }
    kept.push({ ...message, parts })
  }
  return kept
}

/** Whether the model's service will call this part's URL. */
function isFetched(part: Part): part is UrlPart {
  return (
    'url' in part &&
    part.mediaType?.startsWith('image/') === true &&
    !part.url.startsWith('data:image/')
  )
}

function isAllowed(guard: Guard, url: string): Promise<boolean> {
  return guard.resolve(url).then(
    () => true,
    () => false,
  )
}
