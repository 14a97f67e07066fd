import { expect, test } from 'vitest'
import { deadLinks } from '../../../scripts/package/links.ts'

const pages: Readonly<Record<string, string>> = {
  'README.md': `[one](docs/one.md) [two](docs/two.md#part) ![three](docs/three.png)
<img src="docs/four.png" width="600"> [folder](examples/) [site](https://example.com) [here](#here)
[five]: docs/five.md
\`[code](six.md)\`

\`\`\`md
[code](seven.md)
\`\`\`
`,
  'docs/one.md': '[back](../README.md) [next](two.md) [beyond](../src/one.ts)',
}

test('links of packed pages to what is not packed are found, pictures and named links too', () => {
  const files = [...Object.keys(pages), 'docs/three.png', 'examples/a/b.ts']
  expect(deadLinks(files, (page) => pages[page] ?? '')).toEqual([
    'README.md: docs/two.md#part',
    'README.md: docs/four.png',
    'README.md: docs/five.md',
    'docs/one.md: two.md',
    'docs/one.md: ../src/one.ts',
  ])
})
