import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    // One fewer than the cores, the usual choice, leaves half of a two-core machine idle.
    maxWorkers: '100%',
  },
})
