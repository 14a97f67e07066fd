/** A lending desk as an MCP server: any server with tools and a resource that shows its state can be a domain. */
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const books = { b1: { title: 'The Long Ships', lent_to: null } }
const text = (value) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
})
const ids = z.object({ member_id: z.string(), book_id: z.string() })

serveStdio(() => {
  const server = new McpServer({ name: 'library', version: '1.0.0' })
  server.registerTool(
    'list_books',
    { description: 'All books', inputSchema: z.object({}), annotations: { readOnlyHint: true } },
    () => text(books),
  )
  server.registerTool(
    'lend_book',
    { description: 'Lend a book to a member', inputSchema: ids },
    ({ member_id, book_id }) => {
      const book = books[book_id]
      if (!book || book.lent_to) return { ...text('The book is not there'), isError: true }
      book.lent_to = member_id
      return text({ lent: book_id })
    },
  )
  server.registerTool(
    'is_lent_to',
    { description: 'Whether a member has a book', inputSchema: ids },
    ({ member_id, book_id }) => text(String(books[book_id]?.lent_to === member_id)),
  )
  server.registerResource('state', 'library://state', {}, (uri) => ({
    contents: [{ uri: uri.href, text: JSON.stringify(books) }],
  }))
  return server
})
