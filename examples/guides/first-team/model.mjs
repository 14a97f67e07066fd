import { openModelServer } from 'corral/testing'

/** Stands in for a model service: plans for whoever is told to plan, and writes for the others. */
export const model = await openModelServer(
  ({ messages }) => {
    const [{ content: prompt }, { content: words }] = messages
    return prompt.startsWith('Plan')
      ? `${words} leaves. It storms. ${words} returns.`
      : `Once upon a time: ${words} The end.`
  },
  { port: Number(process.env.PORT ?? 4000) },
)
console.log(`The stand-in answers at ${model.url}`)
