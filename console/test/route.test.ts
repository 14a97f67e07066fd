import { describe, expect, test } from 'vitest'
import { parseRoute, taskLink, toAddress } from '../logic/route.ts'

describe('An address', () => {
  const addresses = [
    '#/',
    '#/chat',
    '#/chat/studio',
    '#/chat/studio/a%2Fb',
    '#/teams',
    '#/teams/studio',
    '#/tasks',
    '#/tasks?agent=echo&state=TASK_STATE_FAILED&text=a+b',
    '#/task/id',
    '#/task/id@31',
    '#/task/id@31?tab=graph',
    '#/task/id?zoom=records',
    '#/task/id?tab=wire&dialect=0.3',
    '#/webhooks',
    '#/agents',
    '#/agents/https%3A%2F%2Fagent.example%2Fa?tab=check',
  ]
  test.each(addresses)('%s leads to one view and back', (address) => {
    expect(toAddress(parseRoute(address))).toBe(address)
  })

  test('a task is named with the record as of which it is shown', () => {
    expect(parseRoute('#/task/abc@7')).toMatchObject({ view: 'task', id: 'abc', at: 7 })
    expect(parseRoute('#/task/abc')).not.toHaveProperty('at')
    expect(parseRoute('#/task/a@b')).toMatchObject({ id: 'a@b' })
    expect(taskLink('abc', 7)).toBe('#/task/abc@7')
  })

  test('what nobody knows is Home, and an unknown tab the first', () => {
    expect(parseRoute('#/nowhere')).toEqual({ view: 'home' })
    expect(parseRoute('')).toEqual({ view: 'home' })
    expect(parseRoute('#/task/a?tab=x&zoom=y&dialect=z')).toMatchObject({
      ...{ tab: 'timeline', zoom: 'lanes', dialect: '1.0' },
    })
    expect(parseRoute('#/chat/%E0%A4%A')).toEqual({ view: 'chat', agent: '%E0%A4%A' })
  })
})
