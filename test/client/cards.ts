import type { AgentCard, AgentInterface } from '../../src/protocol/types.ts'

/** A card for tests; what is given takes the place of what it says otherwise. */
export function testCard(over: Partial<AgentCard> = {}): AgentCard {
  return {
    name: 'Test agent',
    description: 'Answers tests',
    supportedInterfaces: [jsonRpc('http://127.0.0.1:1/')],
    version: '1.0.0',
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'test', name: 'Testing', description: 'Takes tests', tags: ['test'] }],
    ...over,
  }
}

/** A JSON-RPC interface. */
export function jsonRpc(url: string, protocolVersion = '1.0'): AgentInterface {
  return { url, protocolBinding: 'JSONRPC', protocolVersion }
}

/** An HTTP+JSON interface. */
export function rest(url: string, protocolVersion = '1.0'): AgentInterface {
  return { url, protocolBinding: 'HTTP+JSON', protocolVersion }
}
