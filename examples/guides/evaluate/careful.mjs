import { defineAgent } from 'corral/agents'
import { serve } from 'corral/server'

const call = (name, order_id) => JSON.stringify({ tool_call: { name, arguments: { order_id } } })

/** Looks before it cancels. */
const clerk = defineAgent({ name: 'Careful clerk' }, ({ parts }) => {
  const words = parts.findLast((part) => 'text' in part)?.text ?? ''
  const order = words.match(/\bo\d\b/)?.[0]
  if (!words.startsWith('Tool result')) return call('get_order', order)
  if (words.includes('shipped')) return 'Sorry, it is on its way to you.'
  return words.includes('cancelled') ? 'Your order is cancelled.' : call('cancel_order', order)
})

const { url } = await serve(clerk, { port: Number(process.env.PORT ?? 3000) })
console.log(`The clerk answers at ${url}`)
