import { defineConfig } from 'vitest/config'
import { patiently } from './test/support/limits.ts'
import { replicas } from './test/support/replicas/config.ts'
import { common, whole } from './vitest.config.ts'

/**
 * `npm run test:slow`: what proves the same as `npm test` at more points than everybody wants to wait for. About a
 * quarter of an hour on two quiet cores, once in each run of `.ci/run`; at all points with `THOROUGH=1`. By command alone:
 * `npm run torture -- --kills 500` and `npm run soak`, which take longer than such a run may.
 */
export default defineConfig({
  test: {
    ...whole,
    projects: [
      {
        test: {
          ...common,
          name: 'slow',
          include: ['test-slow/**/*.test.ts'],
          testTimeout: patiently(900_000),
        },
      },
      {
        plugins: replicas.plugins ?? [],
        test: {
          ...common,
          name: 'replicas',
          include: ['test/{acceptance,conformance}/**/*.test.ts'],
          isolate: false,
          setupFiles: [replicas.setupFile],
          env: { ...common.env, REPLICAS: '3' },
        },
      },
    ],
  },
})
