import { defineTool } from 'corral/agents'
import { z } from 'zod'

export const remember = defineTool({
  name: 'remember',
  description: 'Remembers the name of the guest',
  input: z.object({ name: z.string() }),
  execute({ name }, { turn }) {
    turn.context.set('name', name)
    return 'I will remember it.'
  },
})
