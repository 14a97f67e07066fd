import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ignoreUnreached, removeStale, stripComments } from '../../../scripts/package/dist.ts'

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-dist-'))
  const exports = { '.': { types: './dist/index.d.ts' }, './package.json': './package.json' }
  write('package.json', JSON.stringify({ exports }))
  for (const name of ['index', 'a/named', 'a/deep', 'a/inner']) {
    write(`src/${name}.ts`, '')
    write(`dist/${name}.js`, '')
    write(`dist/${name}.d.ts`, '')
  }
  write('dist/index.d.ts', "export type { Named } from './a/named.ts'\n")
  write('dist/a/named.d.ts', "export type Named = import('./deep.js').Deep\n")
})

afterEach(() => rmSync(root, { recursive: true }))

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), text)
}

test('what was compiled from files that are gone goes, and the page stays', () => {
  write('dist/a/gone.js', '')
  write('dist/a/gone.d.ts', '')
  write('dist/start.cjs', '')
  write('src/start.cts', '')
  write('dist/console/page/assets/index-1.js', '')
  expect([...removeStale(root)].sort()).toEqual(['a/gone.d.ts', 'a/gone.js'])
  const left = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' })
  expect(left).toEqual(expect.arrayContaining(['start.cjs', 'console/page/assets/index-1.js']))
  expect(left.filter((file) => file.includes('gone'))).toEqual([])
})

test('declarations that no entrance leads to are not packed', () => {
  expect(ignoreUnreached(root)).toEqual(['a/inner.d.ts'])
  const ignored = readFileSync(join(root, 'dist/.npmignore'), 'utf8')
  expect(ignored).toBe('/.tsbuildinfo\n/a/inner.d.ts\n')
})

test('comments leave the code, but for those of tools and licences, and stay in declarations', () => {
  const code = `#!/usr/bin/env node
/** What it does. */
export function a() {
    // Why.
    return load(/* @vite-ignore */ 'x') // aside
        /* one */ + 2 /* two
        lines */ + '/* text */ // text';
}
/*! licence */
/* the end */
`
  write('dist/a/named.js', code)
  write('dist/a/named.d.ts', '/** What it does. */\nexport declare function a(): string;\n')
  stripComments(root)
  expect(readFileSync(join(root, 'dist/a/named.js'), 'utf8')).toBe(`#!/usr/bin/env node
export function a() {
    return load(/* @vite-ignore */ 'x')
         + 2${' '}
 + '/* text */ // text';
}
/*! licence */
`)
  expect(readFileSync(join(root, 'dist/a/named.d.ts'), 'utf8')).toContain('What it does.')
  const once = readFileSync(join(root, 'dist/a/named.js'), 'utf8')
  stripComments(root)
  expect(readFileSync(join(root, 'dist/a/named.js'), 'utf8')).toBe(once)
})
