import { expect, test } from 'vitest'
import { answerParts } from '../../../src/protocol/task.ts'
import { cook } from './recipe.ts'

test('a picture goes to an agent of the official SDK and comes back framed', async () => {
  const run = await cook('remote-a2a-files')
  const raw = Buffer.from('[sea and sky]').toString('base64')
  expect(answerParts(run.task)).toEqual([
    { text: 'In the catalogue: framed-sea.png (image/png)' },
    { raw, filename: 'framed-sea.png', mediaType: 'image/png' },
  ])
  expect(run.delegations.map(({ member, answer }) => [member, answer])).toEqual([
    ['framer', 'Framed 1'],
    ['catalogue', 'In the catalogue: framed-sea.png (image/png)'],
  ])
})
