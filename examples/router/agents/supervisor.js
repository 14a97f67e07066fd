/** Reviews work: sends it back to whoever sent it when it has to be done again, else to the user. */

const routing = 'https://ranch.woi.dev/extensions/client-routing/v1'

export default {
  info: () => ({
    id: 'supervisor',
    name: 'Supervisor Agent',
    description: 'Agent that supervises and quality checks',
    capabilities: ['supervision'],
    metadata: {},
    details: { extensions: [{ uri: routing }] },
  }),

  process(message, turn) {
    const text = message.parts.map((part) => part.text ?? '').join('')
    const again = text.includes('retry')
    const decision = again
      ? { recipient: 'sender', reason: 'Work needs improvement, retrying...' }
      : { recipient: { type: 'user' }, reason: 'Work approved' }
    const words = `[Supervisor] Reviewed: ${text}. Decision: ${decision.reason}`
    return { ...turn.reply(words), metadata: { [routing]: decision }, extensions: [routing] }
  },
}
