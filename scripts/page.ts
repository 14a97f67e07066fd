import { join } from 'node:path'
import { build } from 'vite'

/** Builds the console's page into `dist/console`. */
export async function buildPage(root: string): Promise<void> {
  await build({
    configFile: false,
    root: join(root, 'console'),
    base: '/console/',
    publicDir: false,
    logLevel: 'warn',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: join(root, 'dist/console/page'),
      emptyOutDir: true,
      target: 'es2022',
      modulePreload: { polyfill: false },
      // What is small would else stand in the page as a data URL, which its policy does not allow for scripts and styles.
      assetsInlineLimit: 0,
      reportCompressedSize: false,
    },
  })
}
