/**
 * Watches a configuration with the built package, in a process whose modules Node loads itself. Its parent hears of each
 * reload, and how often a change was noticed before, and may ask the agents of any reload.
 */
import { dirname } from 'node:path'
import { askAlone } from '../../dist/agents/wrap.js'
import { createRoster } from '../../dist/app/roster.js'
import { userMessage } from '../../dist/index.js'
import { systemClock } from '../../dist/shared/clock.js'
import { loadConfig, watchConfig } from '../../dist/team/index.js'

const path = process.argv[2]
const deps = { directory: dirname(path) }
const config = await loadConfig(path, {})
const rosters = [await createRoster(config, deps)]
let noticed = 0

watchConfig(path, config, {
  env: {},
  deps,
  clock: { ...systemClock, after: (ms, act) => systemClock.after(ms, noticeAnd(act)) },
  onRoster: (roster) => process.send({ reload: { number: rosters.push(roster) - 1, noticed } }),
  onError: (error) => process.send({ reload: { number: -1, error: error.message, noticed } }),
})

function noticeAnd(act) {
  noticed++
  return act
}

process.on('message', async ({ reload, agent }) => {
  const reply = await askAlone(rosters[reload].manager.get(agent), userMessage('hi'))
  process.send({ answer: reply.parts[0].text })
})
process.on('disconnect', () => process.exit())
process.send({ ready: true })
