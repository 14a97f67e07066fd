import { expect, test } from 'vitest'
import { cook } from './recipe.ts'

test('the clerk calls a tool of the MCP server, and answers with what it found', async () => {
  const run = await cook('mcp-tools', 'Have you got chairs?', {
    models: ({ messages }) => {
      const found = messages.find(({ role }) => role === 'tool')
      if (found) return `There are ${found.content}.`
      return { tools: [{ name: 'in_stock', arguments: { article: 'chair' } }] }
    },
  })
  expect(run.text).toBe('There are 3.')
  expect(run.trace.filter(({ type }) => type === 'tool')).toMatchObject([
    { tool: 'in_stock', arguments: '{"article":"chair"}', result: '3', failed: false },
  ])
  expect(run.requests[0]?.tools).toMatchObject([{ function: { name: 'in_stock' } }])
})
