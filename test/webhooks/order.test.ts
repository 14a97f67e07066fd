import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createInstantClock } from '../../src/testing/index.ts'
import { chunk, createScene, told } from './scene.ts'

type Answer = 'take' | 'fail' | 'break' | 'busy'
const anAnswer = fc.constantFrom<Answer>('take', 'fail', 'break', 'busy')

/** How many requests it takes until so many events are taken. */
function requestsFor(events: number, answers: readonly Answer[]): number {
  let requests = 0
  for (let taken = 0; taken < events; requests++)
    if ((answers[requests] ?? 'take') === 'take') taken++
  return requests
}

test('whatever a receiver answers and however often the server restarts, each event is taken once', async () => {
  const aRun = fc.record({
    events: fc.integer({ min: 1, max: 8 }),
    answers: fc.array(anAnswer, { maxLength: 25 }),
    restarts: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 3 }),
  })
  await fc.assert(
    fc.asyncProperty(aRun, async ({ events, answers, restarts }) => {
      const scene = createScene()
      const receiver = await scene.receiver()
      const taken: string[] = []
      const left = [...answers]
      receiver.answer = (request, response) => {
        const answer = left.shift() ?? 'take'
        if (answer === 'take') taken.push(request.body)
        if (answer === 'break') response.destroy()
        else if (answer === 'busy') response.writeHead(429, { 'retry-after': '3' }).end()
        else response.writeHead(answer === 'take' ? 200 : 503).end()
      }
      const names = Array.from({ length: events }, (_, i) => `${i + 1}`)
      await scene.append('t', ...names.map((name) => chunk(name)))
      await scene.hook({ config: { url: receiver.url } })
      // Waits between attempts are over at once; timeouts and graces take their time.
      const clock = createInstantClock({ real: (ms) => ms === 15_000 || ms === 5_000 })
      const total = requestsFor(events, answers)
      for (const count of restarts) {
        const webhooks = await scene.open({ clock })
        await receiver.received(Math.min(count, total))
        await webhooks.close()
      }
      await scene.open({ clock })
      await scene.seen(events)
      const order = told(receiver).map(Number)
      expect(order).toEqual(order.toSorted((a, b) => a - b))
      expect(taken).toHaveLength(events)
      expect(new Set(taken).size).toBe(events)
      expect(await scene.store.deadLetters()).toEqual([])
      await scene.close()
    }),
    { numRuns: 40 },
  )
})
