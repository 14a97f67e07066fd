import { appendFile } from 'node:fs/promises'
import { defineTool } from 'corral/agents'
import { z } from 'zod'

export const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city, today or in the next days',
  input: z.object({ city: z.string(), days: z.int().min(0).max(7).default(0) }),
  output: z.object({ celsius: z.number(), sky: z.enum(['clear', 'grey', 'rain']) }),
  async execute({ city, days }) {
    return { celsius: city.length * 3 - days, sky: days > 3 ? 'rain' : 'clear' }
  },
})

export const book = defineTool({
  name: 'book',
  description: 'Books a room and pays for it',
  input: z.object({ city: z.string(), euros: z.number().positive() }),
  async execute({ city, euros }, { key }) {
    // The key is the same if a crash makes the call begin again: whoever gets it can tell.
    await appendFile(
      'bookings.txt',
      `${key} ${city} ${euros}
`,
    )
    return `A room in ${city} is booked`
  },
})
