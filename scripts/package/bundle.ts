import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { withTemporary } from '../temporary.ts'

/** The client as a web page's bundler makes it. */
export interface ClientBundle {
  readonly code: string
  readonly gzippedBytes: number
  /** The files that it is made of. */
  readonly modules: readonly string[]
}

/** Bundles the client and the vocabulary for browsers, from `dist` as it is packed, in a project as a user has it. */
export function bundleClient(
  root: string,
  entry = "export { A2AClient } from 'corral/client'",
): Promise<ClientBundle> {
  return withTemporary('bundle', async (project) => {
    mkdirSync(join(project, 'node_modules'))
    symlinkSync(root, join(project, 'node_modules/corral'), 'dir')
    writeFileSync(join(project, 'main.ts'), entry)
    const output = await build({
      configFile: false,
      root: project,
      logLevel: 'error',
      build: {
        write: false,
        target: 'es2022',
        modulePreload: { polyfill: false },
        rolldownOptions: {
          input: join(project, 'main.ts'),
          preserveEntrySignatures: 'exports-only',
        },
      },
    })
    const [chunk, ...others] = [output].flat().flatMap((one) => ('output' in one ? one.output : []))
    if (chunk?.type !== 'chunk' || others.length > 0) throw new Error('The bundle is not one file')
    const { code, moduleIds } = chunk
    return { code, gzippedBytes: gzipSync(code).length, modules: moduleIds }
  })
}
