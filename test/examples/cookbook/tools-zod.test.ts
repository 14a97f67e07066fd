import { expect, test } from 'vitest'
import { cook } from './recipe.ts'

test('the packer is told which arguments do not fit, and calls again', async () => {
  const run = await cook('tools-zod')
  expect(run.text).toBe('A shirt and boots.')
  const calls = run.trace.filter(({ type }) => type === 'tool')
  expect(calls.map(({ tool, failed, result }) => [tool, failed, result])).toEqual([
    ['forecast', true, expect.stringContaining('days')],
    ['forecast', false, '{"celsius":13,"rain":true}'],
    ['clothes', false, '["a shirt","boots"]'],
  ])
  expect(run.requests[0]?.tools?.map((tool) => tool.function)).toMatchObject([
    { name: 'forecast', parameters: { required: ['city', 'days'] } },
    { name: 'clothes', parameters: { required: ['celsius', 'rain'] } },
  ])
})
