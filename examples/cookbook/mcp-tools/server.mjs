/** A shop's stock as an MCP server. Any MCP server will do, in any language. */
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const stock = { chair: 3, table: 0 }

serveStdio(() => {
  const server = new McpServer({ name: 'stock', version: '1.0.0' })
  server.registerTool(
    'in_stock',
    {
      description: 'How many of an article are there',
      inputSchema: z.object({ article: z.string() }),
    },
    ({ article }) => ({ content: [{ type: 'text', text: String(stock[article] ?? 0) }] }),
  )
  return server
})
