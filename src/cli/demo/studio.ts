import { type Clock, systemClock } from '../../shared/clock.ts'
import { defineTeam, type Team } from '../../team/index.ts'
import { createMembers } from './members.ts'

/** Examples of what to ask it, the first of them asked by the demo itself. */
export const wishes = [
  'Write a card from a lighthouse in November',
  'A card about the last tram of the night',
  'Write a card about a market in the rain',
  'A card from a garden behind the station',
] as const

/**
 * The second team of the demo, to be looked at: it takes its time, a member uses a tool, one has to be asked twice, two
 * work at once, one is a team itself, and the user is asked before anything is printed. All of it offline.
 */
export function createStudio(clock: Clock = systemClock): Team {
  const { writer, critic, ...members } = createMembers(clock)
  const desk = defineTeam({
    id: 'desk',
    name: 'Desk',
    description: 'A writer and a critic',
    clock,
    agents: { writer, critic },
    scheduler: { type: 'workflow', steps: [{ agentId: 'writer' }, { agentId: 'critic' }] },
  })
  return defineTeam({
    id: 'studio',
    name: 'Studio',
    description: 'Writes, paints and prints a card about anything; asks before it prints',
    version: '1.0.0',
    clock,
    agents: { ...members, desk },
    skills: [
      {
        id: 'card',
        name: 'Cards',
        description: 'A card about a place or a thing',
        tags: ['writing'],
        examples: [...wishes],
      },
    ],
    scheduler: {
      type: 'workflow',
      steps: [
        { agentId: 'scout' },
        { parallel: [{ agentId: 'desk' }, { agentId: 'painter' }] },
        { agentId: 'editor', maxRetries: 2 },
        { approval: { question: 'Shall the studio print this card?' } },
        { agentId: 'publisher' },
      ],
    },
  })
}
