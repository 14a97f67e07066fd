import { defineConfig } from 'vitest/config'
import quick from './vitest.config.ts'

/** `npm run test:slow`: what proves the same as `npm test` at more points than everybody wants to wait for. */
export default defineConfig({
  test: { ...quick.test, include: ['test-slow/**/*.test.ts'], testTimeout: 900_000 },
})
