import { openModelServer } from 'corral/testing'

/** Stands in for a model service: remembers names, and says what it was told of before. */
export const model = await openModelServer(
  ({ messages }) => {
    const [{ content: prompt }, ...said] = messages
    if (prompt.startsWith('Summarise')) return 'Ada has asked for a room.'
    const { role, content } = said.at(-1)
    if (role === 'tool') return 'Welcome!'
    const [, name] = /My name is (\w+)/.exec(content) ?? []
    if (name) return { tools: [{ name: 'remember', arguments: { name } }] }
    const [guest] = content.split('.')
    const hasSummary = said[0].role === 'system'
    const earlier = said.length - (hasSummary ? 2 : 1)
    return `${guest}. Before: ${earlier} messages${hasSummary ? ' and a summary' : ''}.`
  },
  { port: Number(process.env.PORT ?? 4000) },
)
console.log(`The stand-in answers at ${model.url}`)
