/** A team with a scheduler of its own: an auction. Run: npx tsx examples/scheduler.ts */

// #region scheduler
import { textOf, userMessage } from 'corral'
import { defineAgent } from 'corral/agents'
import { defineScheduler, defineTeam, replyParts } from 'corral/team'

/** Every member makes an offer; the lowest one gets the order, and a draw is decided by lot. */
const auction = defineScheduler<{ readonly bidders: readonly string[] }>({
  type: 'auction',
  validate: ({ bidders }) => (bidders.length > 1 ? undefined : 'an auction needs two bidders'),
  members: ({ bidders }) => bidders,
  create: ({ bidders }) => ({
    async schedule(run) {
      const offers = await run.all(
        bidders.map((id) => async (own) => {
          const reply = await own.ask(id, 'What would you do it for?', { timeoutSeconds: 30 })
          return { id, price: Number(textOf(replyParts(reply))) }
        }),
      )
      const lowest = Math.min(...offers.map(({ price }) => price))
      const best = offers.filter(({ price }) => price === lowest)
      // Chance would decide anew when the run is repeated after a crash: a decision is made once.
      const drawn = await run.decide(() => Math.floor(Math.random() * best.length))
      const winner = best[drawn]?.id
      if (winner === undefined) return run.reply('Nobody wants the order.')
      await run.progress(`${winner} gets the order`)
      return run.ask(winner, run.message, { live: true, facesCaller: true })
    },
  }),
})

const team = defineTeam({
  id: 'painters',
  name: 'Painters',
  agents: { anna: painter('Anna', 90), bert: painter('Bert', 70) },
  scheduler: auction({ bidders: ['anna', 'bert'] }),
})
// #endregion scheduler

function painter(name: string, price: number) {
  return defineAgent({ name }, ({ parts }) =>
    textOf(parts).startsWith('What would') ? String(price) : `${name} paints ${textOf(parts)}`,
  )
}

const { parts } = await team.process(userMessage('a house'))
console.log(textOf(parts))
