import type { Fault } from './matrix.ts'

/** Why cells of the zoo do not pass; a row whose cell passes is reported, and so is a failure without a row. */
export const faults: readonly Fault[] = [
  {
    animal: 'a2a-js-03',
    cells: ['served signed', 'served both', 'called signed', 'called both'],
    absent: true,
    words: 'The SDK for 0.3 neither signs nor verifies cards.',
  },
  {
    animal: 'a2a-js-1',
    cells: ['served both', 'called both'],
    words:
      'Version 1.3.0 signs and verifies a card without its `securitySchemes`, which its `canonicalizeAgentCard` loses (`canonicalizeAgentCard(AgentCard.fromJSON(card))` differs from that of the same JSON). Corral does not accept a signature that leaves out how callers authenticate.',
  },
]
