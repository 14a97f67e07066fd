import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { patiently } from './test/support/limits.ts'
import { replicas } from './test/support/replicas/config.ts'
import { quickTests, toPatterns } from './test/support/tiers.ts'

/** Lets threads begin in a TypeScript file, here and in the processes that tests start. */
const threads = `--import=${new URL('test/support/threads.mjs', import.meta.url)}`
/** `REPLICAS=3 npx vitest run test/acceptance test/conformance`: against three servers that share a PostgreSQL. */
const isReplicated = process.env.REPLICAS !== undefined

/** Tests that start, stop and kill programs: each file in a process of its own, so that none meets what another left. */
const withPrograms = [
  'test/{bench,cli,durability,store}/**/*.test.ts',
  'test/examples/*.test.ts',
  'test/examples/cookbook/crash-resume.test.ts',
]

/** `npm run test:quick`: what starts no program and needs no database, found by what the files import. */
const quick = isReplicated ? [] : toPatterns(quickTests(source('.'), 'test', 'console/test'))

/** Examples import Corral as its users do; here that is the source. */
const alias = [
  { find: /^corral$/, replacement: source('./src/index.ts') },
  { find: /^corral\/([a-z/]+)$/, replacement: source('./src/$1/index.ts') },
]

/** What all tests have in common. */
export const common = {
  // Limits only for what never happens: tests wait for events, and a machine with other work to do takes ten times as
  // long for them. A test has a limit of its own only where it needs more.
  testTimeout: patiently(180_000),
  hookTimeout: patiently(180_000),
  expect: { poll: { timeout: patiently(90_000), interval: 20 } },
  pool: 'forks',
  execArgv: [threads],
  env: { NODE_OPTIONS: threads },
} satisfies TestProjectInlineConfiguration['test']

/** What only the whole run can say. */
export const whole = {
  globalSetup: ['processes', 'postgres', 'threads'].map((name) => `test/support/${name}-setup.ts`),
  teardownTimeout: patiently(60_000),
  // What servers write to stderr is worth seeing where a test fails.
  silent: 'passed-only',
  // One fewer than the cores, the usual choice, leaves half of a two-core machine idle.
  maxWorkers: '100%',
} as const

export default defineConfig({
  test: {
    ...whole,
    projects: [
      {
        test: {
          ...common,
          name: 'quick',
          include: quick,
          alias,
          // Loading the source anew for each file would take longer than the tests.
          isolate: false,
          setupFiles: ['test/support/no-programs.ts'],
        },
      },
      {
        ...(isReplicated && { plugins: replicas.plugins ?? [] }),
        test: {
          ...common,
          name: 'together',
          include: ['test/**/*.test.ts', 'console/test/*.test.ts'],
          exclude: [...withPrograms, ...quick, 'test/*.test.ts'],
          alias,
          isolate: false,
          ...(isReplicated && { setupFiles: [replicas.setupFile] }),
        },
      },
      {
        test: {
          ...common,
          name: 'apart',
          include: [...withPrograms, 'test/*.test.ts'],
          exclude: quick,
          alias,
        },
      },
    ],
  },
})

function source(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}
