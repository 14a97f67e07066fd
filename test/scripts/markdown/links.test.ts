import { describe, expect, test } from 'vitest'
import { anchorsOf, codesOf, linksOf, placeOf } from '../../../scripts/markdown/links.ts'

const page = `# Serve \`a team\`, [now](now.md)
<a id="here"></a> <img src="one.png"> \`[code](two.md)\`

## Stores & webhooks

\`\`\`sh
# no heading, [no link](three.md)
\`\`\`

## Stores & webhooks

[four]: ../four.md#part
`

describe('of a page', () => {
  test('links are found with their lines, and none in code', () => {
    expect(linksOf(page)).toEqual([
      { line: 1, target: 'now.md' },
      { line: 2, target: 'one.png' },
      { line: 12, target: '../four.md#part' },
    ])
  })

  test('headings are anchors, the second of a name with a number; so are elements with an id', () => {
    expect([...anchorsOf(page)]).toEqual([
      'serve-a-team-now',
      'here',
      'stores--webhooks',
      'stores--webhooks-1',
    ])
  })

  test('code within words is found, and blocks are not among it', () => {
    expect(codesOf(page).map(({ text }) => text)).toEqual(['a team', '[code](two.md)'])
  })
})

test.each([
  ['next.md', { file: 'docs/next.md' }],
  ['../README.md#limits', { file: 'README.md', anchor: 'limits' }],
  ['#limits', { file: 'docs/page.md', anchor: 'limits' }],
  ['guides/', { file: 'docs/guides' }],
  ['a%20file.md?plain=1', { file: 'docs/a file.md' }],
  ['../../out.md', { file: '../out.md' }],
  ['https://example.com/a#b', undefined],
  ['//example.com', undefined],
])('%s on docs/page.md leads to its place', (target, place) => {
  expect(placeOf('docs/page.md', target)).toEqual(place)
})
