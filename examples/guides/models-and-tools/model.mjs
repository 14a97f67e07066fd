import { openModelServer } from 'corral/testing'

/** Stands in for a model service: calls `weather` before it advises, and reads orders as JSON. */
export const model = await openModelServer(
  ({ messages, tools }) => {
    const { role, content } = messages.at(-1)
    if (role === 'tool') return `Pack for this: ${content}`
    if (tools) return { tools: [{ name: 'weather', arguments: { city: 'Bern' } }] }
    return '{ "item": "honey", "count": 2 }'
  },
  { port: Number(process.env.PORT ?? 4000) },
)
console.log(`The stand-in answers at ${model.url}`)
