/**
 * A model with the tools of an MCP server, which is started when they are first needed.
 * Run: npx tsx examples/cookbook/mcp-tools/team.ts
 */
import { createMcpToolSource, OpenAIAgent } from 'corral/agents'
import { defineTeam, type Team } from 'corral/team'
import { type Example, play } from '../play.ts'

// #region team
export function createTeam(modelUrl: string): Team {
  const clerk = new OpenAIAgent({
    id: 'clerk',
    name: 'Clerk',
    endpoint: modelUrl,
    apiKey: process.env.OPENAI_API_KEY ?? 'offline',
    model: 'gpt-4.1',
    systemPrompt: 'You are a clerk. Look up what is in stock before you promise anything.',
    toolSources: [
      createMcpToolSource({
        name: 'stock',
        command: 'node',
        args: ['server.mjs'],
        cwd: import.meta.dirname,
      }),
    ],
  })
  return defineTeam({
    id: 'store',
    name: 'Store',
    agents: { clerk },
    scheduler: { type: 'workflow', steps: [{ agentId: 'clerk' }] },
  })
}
// #endregion team

export const example: Example = {
  message: 'Have you got chairs?',
  model: [{ tools: [{ name: 'in_stock', arguments: { article: 'chair' } }] }, 'We have three.'],
}

await play(import.meta.filename, createTeam, example)
