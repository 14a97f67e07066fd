import { openModelServer } from 'corral/testing'

/** Stands in for a model service: says what each member of the shop would say. */
export const model = await openModelServer(
  ({ messages }) => {
    const [{ content: prompt }] = messages
    if (prompt.includes('bills')) return 'The bill is paid.'
    if (prompt.includes('parcels')) return 'The parcel comes tomorrow.'
    if (prompt.includes('front desk'))
      return { tools: [{ name: 'transfer_to_shipping', arguments: {} }] }
    const answers = messages.filter(({ role }) => role === 'tool')
    if (answers.length > 0) return answers.map(({ content }) => content).join(' ')
    const ask = (id, message) => ({ name: `delegate_to_${id}`, arguments: { message } })
    return { tools: [ask('billing', 'Is it paid?'), ask('shipping', 'Where is it?')] }
  },
  { port: Number(process.env.PORT ?? 4000) },
)
console.log(`The stand-in answers at ${model.url}`)
