/**
 * `npm run ticks -- [--seconds 120] [--seed 1] [--bytes 9000000] [--store memory|sqlite] [--door NAME] [--json]`: looks for
 * the input that holds the server's event loop longest, over every door, by mutation. Prints the worst ten and, of each
 * that holds it longer than 20 ms and three times what JSON takes for the same bytes, the input and where the time went.
 * Exits 1 where there is one, or one that the server answered with an internal error.
 */
import { parseArgs } from 'node:util'
import { corpus } from '../test/security/ticks/corpus.ts'
import { openSubject } from '../test/security/ticks/exchange.ts'
import { hunt, toLine } from '../test/security/ticks/hunt.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    seed: { type: 'string', default: '1' },
    bytes: { type: 'string', default: '9000000' },
    store: { type: 'string', default: 'memory' },
    door: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const store = values.store === 'sqlite' ? 'sqlite' : 'memory'
const { tried, worst, breaches, faults } = await hunt({
  seconds: Number(values.seconds),
  seed: Number(values.seed),
  store,
  door: values.door,
  maxSize: Number(values.bytes),
  corpus,
})
if (values.json)
  process.stdout.write(`${JSON.stringify({ tried, worst, breaches, faults }, null, 2)}\n`)
else {
  process.stdout.write(
    `${tried} inputs, ${breaches.length} above the bar, ${faults.length} internal errors\n`,
  )
  for (const found of worst.slice(0, 10)) process.stdout.write(`${toLine(found)}\n`)
  const subject = await openSubject(store)
  for (const { input } of faults) process.stdout.write(`internal error: ${JSON.stringify(input)}\n`)
  for (const found of breaches) {
    const { hot = [] } = await subject.measure(found.input.exchange, { profile: true })
    process.stdout.write(
      `\n${toLine(found)}\n${JSON.stringify(found.input)}\n  ${hot.join('\n  ')}\n`,
    )
  }
  await subject.close()
}
process.exitCode = breaches.length > 0 || faults.length > 0 ? 1 : 0
