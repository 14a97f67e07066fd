import { expect, test } from 'vitest'
import { cook } from './recipe.ts'
import '../../support/programs.ts'

test('the clerk calls a tool of the MCP server, and answers with what it found', async () => {
  const run = await cook('mcp-tools')
  expect(run.text).toBe('We have three.')
  expect(run.trace.filter(({ type }) => type === 'tool')).toMatchObject([
    { tool: 'in_stock', arguments: '{"article":"chair"}', result: '3', failed: false },
  ])
  expect(run.requests[0]?.tools).toMatchObject([{ function: { name: 'in_stock' } }])
})
