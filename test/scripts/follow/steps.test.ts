import { describe, expect, test } from 'vitest'
import { withPackage } from '../../../scripts/follow/commands.ts'
import { toParts } from '../../../scripts/follow/steps.ts'

describe('the parts of a page', () => {
  test('begin in the place of the page, and where a mark says', () => {
    const page = [
      '```sh',
      'npm start',
      '```',
      '<!-- follow: in empty -->',
      '```sh',
      'npm init -y',
      '```',
    ]
    expect(toParts(page.join('\n'), 'clone')).toMatchObject([
      { place: 'clone', steps: [{ text: 'npm start' }] },
      { place: 'empty', steps: [{ text: 'npm init -y' }] },
    ])
  })

  test('come a second time in TypeScript, with its types checked', () => {
    const page = [
      '<!-- file: team.mjs -->',
      '<!-- follow: also team.mts -->',
      '```ts',
      'go()',
      '```',
      '```sh',
      'node team.mjs',
      '```',
    ]
    expect(toParts(page.join('\n'), 'project')).toMatchObject([
      { place: 'project', steps: [{ name: 'team.mjs' }, { text: 'node team.mjs' }] },
      {
        place: 'typescript',
        steps: [{ name: 'team.mts' }, { text: 'npx tsc' }, { text: 'npx tsx team.mts' }],
      },
    ])
  })

  test('have blocks within lists too', () => {
    const page = ['1. Type this:', '', '   ```sh', '   echo one', '   ```']
    expect(toParts(page.join('\n'), 'project')).toMatchObject([{ steps: [{ text: 'echo one' }] }])
  })
})

test.each([
  ['npm install corral', 'npm install ./corral.tgz'],
  ['npm i -D tsx corral@latest pg', 'npm i -D tsx ./corral.tgz pg'],
  ['npm install corral-extras', 'npm install corral-extras'],
  ['npx corral serve corral.toml', 'npx corral serve corral.toml'],
])('%s installs the packed package', (command, run) => {
  expect(withPackage(command, './corral.tgz')).toBe(run)
})
