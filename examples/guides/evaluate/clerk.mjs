import { defineAgent } from 'corral/agents'
import { serve } from 'corral/server'

const call = (name, order_id) => JSON.stringify({ tool_call: { name, arguments: { order_id } } })

/** Cancels whatever it is asked to cancel. */
const clerk = defineAgent({ name: 'Clerk' }, ({ parts }) => {
  const words = parts.findLast((part) => 'text' in part)?.text ?? ''
  if (words.startsWith('Tool result')) return 'Your order is cancelled.'
  return call('cancel_order', words.match(/\bo\d\b/)?.[0])
})

const { url } = await serve(clerk, { port: Number(process.env.PORT ?? 3000) })
console.log(`The clerk answers at ${url}`)
