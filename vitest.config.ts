import { defineConfig } from 'vitest/config'
import { replicas } from './test/support/replicas/config.ts'

/** Lets threads begin in a TypeScript file, here and in the processes that tests start. */
const threads = `--import=${new URL('scripts/threads.mjs', import.meta.url)}`
/** `REPLICAS=3 npx vitest run test/acceptance test/conformance`: against three servers that share a PostgreSQL. */
const isReplicated = process.env.REPLICAS !== undefined

export default defineConfig({
  ...(isReplicated && { plugins: replicas.plugins ?? [] }),
  test: {
    // What servers write to stderr is worth seeing where a test fails.
    silent: 'passed-only',
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres-setup.ts'],
    ...(isReplicated && { setupFiles: [replicas.setupFile] }),
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    execArgv: [threads],
    env: { NODE_OPTIONS: threads },
    // One fewer than the cores, the usual choice, leaves half of a two-core machine idle.
    maxWorkers: '100%',
  },
})
