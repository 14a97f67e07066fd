/**
 * What built-in guards cost, in a process of its own: each on 100,000 characters of prose and as many of a log. Told how
 * often, tells the CPU time of one look in microseconds, of each guard the worse of the two texts.
 */
import type { Part } from '../../src/protocol/types.ts'
import { here } from '../processes.ts'

const folder = `file://${here}dist`
const { readGuards } = (await import(
  `${folder}/agents/guards/built-in.js`
)) as typeof import('../../src/agents/guards/built-in.ts')
const { Cleaning } = (await import(
  `${folder}/agents/guards/ready.js`
)) as typeof import('../../src/agents/guards/ready.ts')
const { inOnePiece } = (await import(
  `${folder}/shared/async.js`
)) as typeof import('../../src/shared/async.ts')

const prose =
  'Thank you for your patience. Your garden table left our warehouse in Leipzig on Saturday, together with the four chairs, ' +
  'and has reached Hamburg. It waits there for a van with a lift: the carton is too heavy for an ordinary one. Please write ' +
  'to desk@example.com, or visit https://shop.example.com/help?order=A-1042&from=mail, to change the address until six.\n'
const log =
  '2026-11-18T08:12:44.120Z INFO [http-7] GET /orders/A-1042?user=ann@example.com&page=2 status=200 bytes=5120 id=5f1c ' +
  'agent="Mozilla/5.0 (X11; Linux x86_64)" token_count: 812, model: gpt-4o, key-value: x=1; path=/srv/app/sk-form/main.ts\n'

const texts = [prose, log].map((line) => line.repeat(100_000 / line.length))
const rules = [
  { use: 'length', max: 1_000_000 },
  { use: 'pattern', deny: '(?i)ignore (all|any) (previous|earlier) instructions' },
  { use: 'pattern', require: '(?i)kind regards|status=500' },
  { use: 'secrets' },
  { use: 'email' },
]
const { input } = readGuards({ input: rules })

process.on('message', (times: number) => {
  void run(times).then((micros) => process.send?.({ micros }))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function run(times: number): Promise<Readonly<Record<string, number>>> {
  const micros: Record<string, number> = {}
  for (const [index, guard] of input.entries()) {
    const name = index === 2 ? 'pattern (require)' : guard.name
    for (const text of texts) {
      const parts: readonly Part[] = [{ text }]
      const before = process.cpuUsage()
      for (let i = 0; i < times; i++)
        if (guard.kind === 'cleaner') inOnePiece(new Cleaning(guard.cleaner).parts(parts))
        else if (guard.kind === 'form') await guard.judge(parts)
      const { user, system } = process.cpuUsage(before)
      micros[name] = Math.max(micros[name] ?? 0, (user + system) / times)
    }
  }
  return micros
}
