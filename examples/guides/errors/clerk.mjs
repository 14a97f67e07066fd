import { A2AError, textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { serve } from 'corral/server'

const clerk = defineAgent({ name: 'Clerk' }, ({ parts }) => {
  const text = textOf(parts)
  if (text.length > 20) throw new A2AError('invalidParams', 'Ask for less: 20 characters at most')
  return `You asked: ${text}`
})

const { url } = await serve(clerk, { port: Number(process.env.PORT ?? 3000) })
console.log(`The clerk answers at ${url}`)
