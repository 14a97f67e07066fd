/**
 * A team that goes on after a crash: what is done is not done again. serve.ts says how to kill it.
 * Run: npx tsx examples/cookbook/crash-resume/team.ts
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineTeam, type Team } from 'corral/team'
import { type Example, play } from '../play.ts'
import charge from './agents/charge.ts'
import pack from './agents/pack.ts'
import ship from './agents/ship.ts'

// #region team
export function createTeam(): Team {
  return defineTeam({
    id: 'orders',
    name: 'Orders',
    agents: { charge, pack, ship },
    scheduler: {
      type: 'workflow',
      steps: [{ agentId: 'charge' }, { agentId: 'pack' }, { agentId: 'ship' }],
    },
  })
}
// #endregion team

export const example: Example = {
  message: 'Two chairs',
  async open() {
    const folder = await mkdtemp(join(tmpdir(), 'corral-orders-'))
    return {
      env: { LEDGER: join(folder, 'ledger.txt') },
      close: () => rm(folder, { recursive: true }),
    }
  },
}

await play(import.meta.filename, createTeam, example)
