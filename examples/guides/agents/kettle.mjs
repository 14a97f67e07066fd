import { setTimeout } from 'node:timers/promises'
import { A2AError, textOf } from 'corral'

export default async function boil({ parts }, turn) {
  const litres = Number.parseFloat(textOf(parts))
  if (Number.isNaN(litres)) throw new TypeError(`no number in ${textOf(parts)}`)
  if (litres > 2) throw new A2AError('processingError', 'It holds two litres')
  // Ends at once when the caller cancels, the time is over or the server stops.
  await setTimeout(litres * 1000, undefined, { signal: turn.signal })
  return 'The water boils'
}
