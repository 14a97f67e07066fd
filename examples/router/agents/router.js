/** Sends those who need help to the worker, whose only further peer is then the supervisor; answers everybody else. */

const routing = 'https://ranch.woi.dev/extensions/client-routing/v1'

export default {
  info: () => ({
    id: 'router',
    name: 'Router Agent',
    description: 'Agent that makes dynamic routing decisions',
    capabilities: ['coordination'],
    metadata: {},
    details: { extensions: [{ uri: routing }] },
  }),

  process(message, turn) {
    const text = message.parts.map((part) => part.text ?? '').join('')
    if (!message.metadata?.[routing]) return '[Router] Processed without routing context'
    const decision = text.includes('help')
      ? { recipient: 'worker', handoffs: ['supervisor'], reason: 'User needs help' }
      : { recipient: 'user', reason: 'Task complete' }
    const words = text.includes('help') ? text : `[Router] Processed: ${text}`
    return { ...turn.reply(words), metadata: { [routing]: decision }, extensions: [routing] }
  },
}
