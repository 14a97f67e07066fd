/**
 * The attacker, in a process of its own so that it does not slow the honest client. Its argument is JSON: `port`,
 * `seconds`, `scale`, `hosts`, and
 * `only` for one attack alone. Prints what became of each attack as JSON.
 */
import { setMaxListeners } from 'node:events'
import { attacks, type Siege } from './attacks.ts'
import { createTally } from './tally.ts'

const { port, seconds, scale, hosts, only } = JSON.parse(process.argv[2] ?? '{}')
const ended = AbortSignal.timeout(seconds * 1_000)
setMaxListeners(0, ended)
/** An attack that waits for an answer that does not come is over soon after the siege. */
const over = new Promise((resolve) =>
  ended.addEventListener('abort', () => setTimeout(resolve, 2_000)),
)
const results = await Promise.all(
  attacks
    .filter(({ name }) => !only || name === only)
    .map(async ({ name, run }, index) => {
      const tally = createTally()
      const stranger = { port, from: `127.0.1.${index + 1}` }
      const mallory = { port, from: `127.0.2.${index + 1}`, token: 'mallory-token' }
      const tarpit = (number: number): string =>
        `http://127.1.${number >> 8}.${(number & 255) + 1}:${hosts.tarpit}/`
      const siege: Siege = { tally, stranger, mallory, scale, tarpit, ended }
      const attacking = run(siege).catch((error) => tally.count(`attack failed: ${error}`))
      await Promise.race([attacking, over])
      return [name, tally.outcomes()]
    }),
)
process.stdout.write(`${JSON.stringify(Object.fromEntries(results))}\n`)
process.exit(0)
