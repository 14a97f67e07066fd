import { defineConfig } from 'vitest/config'
import { replicas } from './test/support/replicas/config.ts'
import quick from './vitest.config.ts'

const { maxWorkers, silent, ...each } = quick.test ?? {}

/**
 * `npm run test:slow`: what proves the same as `npm test` at more points than everybody wants to wait for. About a
 * quarter of an hour on two quiet cores, once in each run of `.ci/run`. By command alone: `npm run torture -- --kills 500` and
 * `npm run soak`, which take longer than such a run may.
 */
export default defineConfig({
  test: {
    maxWorkers,
    silent,
    projects: [
      {
        test: { ...each, name: 'slow', include: ['test-slow/**/*.test.ts'], testTimeout: 900_000 },
      },
      {
        plugins: replicas.plugins ?? [],
        test: {
          ...each,
          name: 'replicas',
          include: ['test/{acceptance,conformance}/**/*.test.ts'],
          setupFiles: [replicas.setupFile],
          env: { ...each.env, REPLICAS: '3' },
        },
      },
    ],
  },
})
