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
  {
    animal: 'adk',
    cells: ['served stream'],
    words:
      'The client of ADK drops the text of an artifact that comes in chunks unless one of them says `lastChunk`, as `turn.artifact(…, { lastChunk: true })` does. An agent that yields its text in pieces does not know the last one.',
  },
  {
    animal: 'adk',
    cells: ['served question', 'member question'],
    words:
      "ADK's client answers a question by a message without its `taskId`, which begins a task of its own.",
  },
  {
    animal: 'adk',
    cells: ['called question'],
    words:
      "ADK asks by a function call, and takes only a data part with the function's response for an answer, not text.",
  },
  {
    animal: 'adk',
    cells: ['served cancel', 'called cancel'],
    absent: true,
    words: 'ADK cannot cancel: its client has no such call, and its server answers with an error.',
  },
  {
    animal: 'adk',
    cells: ['served signed', 'served both', 'called signed', 'called both'],
    absent: true,
    words: 'ADK neither signs nor verifies cards.',
  },
  {
    animal: 'mastra',
    cells: ['served cancel'],
    absent: true,
    words: 'The `A2AAgent` of Mastra has no cancel.',
  },
  {
    animal: 'mastra',
    cells: ['served signed', 'served both'],
    absent: true,
    words: 'The `A2AAgent` of Mastra leaves the verification of cards to a function of the user.',
  },
  {
    animal: 'strands',
    cells: ['served question', 'called question', 'member question'],
    absent: true,
    words:
      'Strands has no question over A2A: its client gives text alone, its server only completes.',
  },
  {
    animal: 'strands',
    cells: ['served cancel', 'called cancel'],
    absent: true,
    words:
      'Strands cannot cancel: its client has no such call, and its server answers with an error.',
  },
  {
    animal: 'strands',
    cells: ['served signed', 'served both', 'called signed', 'called both'],
    absent: true,
    words: 'Strands neither signs nor verifies cards.',
  },
  {
    animal: 'voltagent',
    cells: [
      ...(['served send', 'served stream', 'served question', 'served cancel'] as const),
      ...(['served signed', 'served authenticated', 'served both'] as const),
    ],
    absent: true,
    words: 'VoltAgent has no client of A2A.',
  },
  {
    animal: 'voltagent',
    cells: ['called question', 'member question'],
    absent: true,
    words: 'The A2A server of VoltAgent never asks: its tasks only complete, fail or are canceled.',
  },
  {
    animal: 'voltagent',
    cells: ['called cancel'],
    words:
      'VoltAgent answers a send only when the task has ended, also with `blocking: false`; its id is known in time only from a stream.',
  },
  {
    animal: 'voltagent',
    cells: ['called signed', 'called both'],
    absent: true,
    words: 'VoltAgent does not sign cards.',
  },
]
