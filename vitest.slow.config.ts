import { defineConfig } from 'vitest/config'
import quick from './vitest.config.ts'

/**
 * `npm run test:slow`: what proves the same as `npm test` at more points than everybody wants to wait for. About ten
 * minutes on two quiet cores, once in each run of `.ci/run`. By command alone: `npm run torture -- --kills 500` and
 * `npm run soak`, which take longer than such a run may.
 */
export default defineConfig({
  test: { ...quick.test, include: ['test-slow/**/*.test.ts'], testTimeout: 900_000 },
})
