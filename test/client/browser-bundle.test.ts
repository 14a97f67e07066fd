import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type * as Client from '../../src/client/index.ts'
import { built } from '../support/built.ts'
import { doneTask, serveAgent } from './agent.ts'

/** What the test uses of esbuild, which tsx brings along. */
interface Esbuild {
  build(options: object): Promise<{
    readonly metafile: { readonly inputs: Readonly<Record<string, object>> }
    readonly outputFiles: readonly { readonly text: string }[]
  }>
}

const require = createRequire(import.meta.url)
const { build } = createRequire(require.resolve('tsx'))('esbuild') as Esbuild // its public face
/** The client as it is published; `npm test` builds it first. */
const entry = fileURLToPath(built('client/index.js'))
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-bundle-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('a browser bundle of the client has no Node module in it, and works', async () => {
  const { metafile, outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'browser',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  const files = Object.keys(metafile.inputs)
  expect(files.some((file) => file.endsWith('client/fetch.js'))).toBe(true)
  expect(files.filter((file) => /undici|client\/node\.js|^node:/.test(file))).toEqual([])
  expect(outputFiles[0]?.text).not.toMatch(/\bfrom\s*"node:|require\("node:/)

  const agent = await serveAgent({ SendMessage: () => ({ task: doneTask }) }, { capabilities: {} })
  const file = join(folder, 'bundle.mjs')
  await writeFile(file, outputFiles[0]?.text ?? '')
  const { A2AClient }: typeof Client = await import(pathToFileURL(file).href)
  expect(await new A2AClient(agent.url).run('hi')).toBe('Echo: hi')
})

test('the same for Node takes undici', async () => {
  const { metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  expect(Object.keys(metafile.inputs).some((file) => file.includes('undici'))).toBe(true)
})
