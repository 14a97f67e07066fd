import { describe, expect, test } from 'vitest'
import type { HttpRequest } from '../../src/bindings/http.ts'
import {
  agentRoutes,
  createRouteTable,
  methodsAt,
  reservedSegments,
  serverRoutes,
  splitAgentPath,
} from '../../src/bindings/routes.ts'

const request = (method: string, path: string): HttpRequest => ({
  method,
  path,
  query: '',
  headers: {},
  body: '',
})

const find = createRouteTable(
  {
    one: { paths: ['/one', '/one/'], methods: ['GET', 'HEAD'] },
    many: { paths: ['/many/*'], methods: ['POST'] },
    none: { paths: ['/none'], methods: ['GET'] },
  },
  {
    one: () => ({ status: 200, headers: {}, body: 'one' }),
    many: () => ({ status: 200, headers: {}, body: 'many' }),
    none: undefined,
  },
)

describe('a table of routes', () => {
  test('finds a row by each of its paths, and by what a path begins with', () => {
    for (const path of ['/one', '/one/'])
      expect(find(path)?.(request('GET', path))).toMatchObject({ status: 200, body: 'one' })
    expect(find('/many/a/b')?.(request('POST', '/many/a/b'))).toMatchObject({ body: 'many' })
  })

  test('finds nothing where no row is, or no handler', () => {
    for (const path of ['/', '/on', '/one/two', '/many', '/none'])
      expect(find(path)).toBeUndefined()
  })

  test('answers other methods with 405 and those it takes', () => {
    expect(find('/one')?.(request('POST', '/one'))).toEqual({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    })
  })
})

test.each([
  ['/', ['POST']],
  ['/v1/rpc/', ['POST']],
  ['/health', ['GET']],
  ['/v1/models/gpt', ['GET']],
  ['/mcp', ['POST']],
  ['/tasks/1', ['GET', 'POST', 'DELETE']],
  ['/agents', ['GET']],
  ['/agents/one', ['POST']],
  ['/agents/one/rpc', ['POST']],
  ['/agents/one/.well-known/agent-card.json', ['GET']],
  ['/agents/one/health', ['GET', 'POST', 'DELETE']],
])('a page may use at %s: %j', (path, methods) => {
  expect(methodsAt(path)).toEqual(methods)
})

test('an agent is named by the segment below /agents, however it is spelt', () => {
  expect(splitAgentPath('/agents/a%20b/tasks/1')).toEqual({ id: 'a%20b', below: '/tasks/1' })
  expect(splitAgentPath('/agents/one')).toEqual({ id: 'one', below: '/' })
  expect(splitAgentPath('/agents')).toBeUndefined()
})

test('no first segment of a path of ours is a tenant', () => {
  for (const { paths } of [...Object.values(serverRoutes), ...Object.values(agentRoutes)])
    for (const path of paths) {
      const [, first = ''] = path.split('/')
      if (first !== '') expect(reservedSegments).toContain(first)
    }
  expect(reservedSegments).toContain('mcp')
  expect(reservedSegments).not.toContain('')
})
