import { expect, test } from 'vitest'
import type { TeamRun } from '../../../src/testing/index.ts'
import { runHere, runWithModel } from './guide.ts'

const file = 'supervisors-and-routers/corral.toml'
const membersOf = ({ delegations }: TeamRun) => delegations.map(({ member }) => member)

test('a lead asks two colleagues at once, and answers from what they say', async () => {
  const run = await runWithModel(file, 'Where is my parcel, and is it paid?')
  expect(run.text).toBe('The bill is paid. The parcel comes tomorrow.')
  expect(membersOf(run).toSorted()).toEqual(['billing', 'lead', 'shipping'])
})

test('a desk hands the conversation over', async () => {
  const run = await runWithModel(file, 'Where is my parcel?', { team: 'counter' })
  expect(run.text).toBe('The parcel comes tomorrow.')
  expect(membersOf(run)).toEqual(['desk', 'shipping'])
})

test('functions lead and route as models do', async () => {
  const [lead = '', desk = ''] = await runHere('supervisors-and-routers/team.mjs')
  expect(lead).toMatch(/^lead → billing → shipping → lead: billing answered:\nThe bill is paid\./)
  expect(desk).toBe('desk → shipping: The parcel comes tomorrow.')
})
