import { defineConfig } from 'vitest/config'

/** Lets threads begin in a TypeScript file, here and in the processes that tests start. */
const threads = `--import=${new URL('scripts/threads.mjs', import.meta.url)}`

export default defineConfig({
  test: {
    // What servers write to stderr is worth seeing where a test fails.
    silent: 'passed-only',
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    execArgv: [threads],
    env: { NODE_OPTIONS: threads },
    // One fewer than the cores, the usual choice, leaves half of a two-core machine idle.
    maxWorkers: '100%',
  },
})
