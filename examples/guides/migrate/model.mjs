import { openModelServer } from 'corral/testing'

/** Answers as a model would, so that the programs run without a key. */
const standIn = await openModelServer(({ messages }) => {
  const [system, last] = [messages.at(0), messages.at(-1)]
  if (last?.role === 'tool') return `Your parcel: ${last.content}.`
  if (/customer/.test(system?.content))
    return { tools: [{ name: 'transfer_to_shipping', arguments: {} }] }
  if (/parcels/.test(system?.content))
    return { tools: [{ name: 'find_parcel', arguments: { number: '7' } }] }
  return /short/.test(system?.content) ? `In short: ${last?.content}` : `All about ${last?.content}`
})

/** Where models answer: OpenAI's service where there is a key, else the stand-in. */
export const service = {
  endpoint: process.env.OPENAI_API_KEY ? 'https://api.openai.com/v1' : standIn.url,
  apiKey: process.env.OPENAI_API_KEY ?? 'none',
  model: 'gpt-4.1',
}
export const close = () => standIn.close()
