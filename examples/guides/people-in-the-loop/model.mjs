import { openModelServer } from 'corral/testing'

/** Stands in for a model service: pays Anna, and says what came of it. */
export const model = await openModelServer(
  ({ messages }) => {
    const { role, content } = messages.at(-1)
    if (role === 'tool') return `Done: ${content}.`
    return { tools: [{ name: 'pay', arguments: { to: 'Anna', euros: 70 } }] }
  },
  { port: Number(process.env.PORT ?? 4000) },
)
console.log(`The stand-in answers at ${model.url}`)
