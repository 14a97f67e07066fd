import { A2AError } from '../protocol/errors.ts'
import type { AgentCard } from '../protocol/types.ts'
import type { CheckedCall } from './gate.ts'
import type { Service } from './service.ts'

/** The card for callers who have shown who they are (specification §3.1.11, §13.3). */
export async function getExtendedAgentCard(
  { agent }: Service,
  call: CheckedCall,
): Promise<AgentCard> {
  if (!agent.extendedCard)
    throw new A2AError('extendedAgentCardNotConfigured', 'This agent has no extended card')
  if (call.auth.userId === '' && !agent.openExtendedCard)
    throw new A2AError('unauthenticated', 'The extended card is for authenticated callers', {
      challenge: 'Bearer',
    })
  return agent.extendedCard(call.auth, call.base)
}
