import { defineTool } from 'corral/agents'
import { z } from 'zod'

/** Keeps the guest's name with the conversation, where every member and every later message finds it. */
export const remember = defineTool({
  name: 'remember',
  description: 'Remember the name of the guest',
  input: z.object({ name: z.string() }),
  execute({ name }, { turn }) {
    turn.context.set('name', name)
    return 'I will remember.'
  },
})
