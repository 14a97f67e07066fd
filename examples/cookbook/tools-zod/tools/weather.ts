import { defineTool } from 'corral/agents'
import { z } from 'zod'

/** The forecast of a day. Arguments that do not fit are told to the model; nothing runs. */
export const forecast = defineTool({
  name: 'forecast',
  description: 'The weather of a city on one of the next days',
  input: z.object({ city: z.string(), days: z.int().min(0).max(7) }),
  output: z.object({ celsius: z.number(), rain: z.boolean() }),
  execute: ({ city, days }) => ({ celsius: city.length * 2 + days, rain: days > 3 }),
})

/** What to wear, by the weather. */
export const clothes = defineTool({
  name: 'clothes',
  description: 'What to wear',
  input: z.object({ celsius: z.number(), rain: z.boolean() }),
  execute: ({ celsius, rain }) => [celsius < 12 ? 'a coat' : 'a shirt', ...(rain ? ['boots'] : [])],
})
