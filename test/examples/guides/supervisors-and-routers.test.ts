import { expect, test } from 'vitest'
import type { TeamRun } from '../../../src/testing/index.ts'
import { listen, openGuide } from './guide.ts'

const guide = openGuide('supervisors-and-routers')
const membersOf = ({ delegations }: TeamRun) => delegations.map(({ member }) => member)

test('a lead asks two colleagues at once, and answers from what they say', async () => {
  listen()
  const run = await guide.run('corral.toml', 'Where is my parcel, and is it paid?')
  expect(run.text).toBe('The bill is paid. The parcel comes tomorrow.')
  expect(membersOf(run).toSorted()).toEqual(['billing', 'lead', 'shipping'])
})

test('a desk hands the conversation over', async () => {
  listen()
  const run = await guide.run('corral.toml', 'Where is my parcel?', { team: 'counter' })
  expect(run.text).toBe('The parcel comes tomorrow.')
  expect(membersOf(run)).toEqual(['desk', 'shipping'])
})

test('functions lead and route as models do', async () => {
  const lines = listen()
  await guide.load('team.mjs')
  const [lead = '', desk = ''] = lines
  expect(lead).toMatch(/^lead → billing → shipping → lead: billing answered:\nThe bill is paid\./)
  expect(desk).toBe('desk → shipping: The parcel comes tomorrow.')
})
