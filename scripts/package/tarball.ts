import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The package as npm packs it. */
export interface Tarball {
  readonly path: string
  readonly bytes: number
  readonly unpackedBytes: number
  /** The paths of what is in it. */
  readonly files: readonly string[]
}

/** Packs what `dist` and the documents are now. */
export async function packInto(directory: string, root: string): Promise<Tarball> {
  const args = ['pack', '--json', '--pack-destination', directory]
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root, maxBuffer: 1 << 26 })
  const [{ filename, size, unpackedSize, files }] = JSON.parse(stdout)
  return {
    path: join(directory, filename),
    bytes: size,
    unpackedBytes: unpackedSize,
    files: files.map(({ path }: { readonly path: string }) => path),
  }
}
