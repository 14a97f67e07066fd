import type { ConversationMessage } from '../domain/conversation.ts'

/** Whether each fact was told to the user, in any of the agent's words; case and thousands separators do not matter. */
export function checkCommunicated(
  facts: readonly string[],
  messages: readonly ConversationMessage[],
): readonly { readonly info: string; readonly met: boolean }[] {
  const texts = messages
    .filter((message) => message.role === 'assistant')
    .map((message) => (message.content ?? '').toLowerCase().replaceAll(',', ''))
  return facts.map((info) => ({
    info,
    met: texts.some((text) => text.includes(info.toLowerCase())),
  }))
}
