import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // What servers write to stderr is worth seeing where a test fails.
    silent: 'passed-only',
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    // One fewer than the cores, the usual choice, leaves half of a two-core machine idle.
    maxWorkers: '100%',
  },
})
