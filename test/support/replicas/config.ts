import { fileURLToPath } from 'node:url'
import type { ViteUserConfig } from 'vitest/config'

const original = pathOf('../../../src/server/server.ts')
const replicated = pathOf('./server.ts')

/** What makes every server of a test run so many replicas on one PostgreSQL, behind one door. */
export const replicas: Pick<ViteUserConfig, 'plugins'> & { readonly setupFile: string } = {
  setupFile: pathOf('./setup.ts'),
  plugins: [
    {
      name: 'replicas',
      enforce: 'pre',
      async resolveId(source, importer) {
        if (!source.endsWith('server.ts') || importer === replicated) return undefined
        const found = await this.resolve(source, importer, { skipSelf: true })
        return found?.id === original ? replicated : found
      },
    },
  ],
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}
