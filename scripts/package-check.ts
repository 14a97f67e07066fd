/**
 * The package as its users' tools see it: publint, the types under every resolution, the links of its pages, and how large
 * it is packed, unpacked, installed and in a browser. Exits with 1 on a fault.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleClient } from './package/bundle.ts'
import { installedBytes, limits } from './package/limits.ts'
import { deadLinks } from './package/links.ts'
import { packInto } from './package/tarball.ts'
import { checkTypes, lint } from './package/tools.ts'
import { withTemporary } from './temporary.ts'

const root = join(import.meta.dirname, '..')

await withTemporary('package', async (home) => {
  const { path, bytes, unpackedBytes, files } = await packInto(home, root)
  const faults = [
    ...(await lint(path)),
    ...(await checkTypes(path)),
    ...deadLinks(files, (page) => readFileSync(join(root, page), 'utf8')).map(
      (link) => `link: ${link}`,
    ),
    ...measure('packed', bytes),
    ...measure('unpacked', unpackedBytes),
    ...measure('installed', await installedBytes(path)),
    ...measure('browser', (await bundleClient(root)).gzippedBytes),
  ]
  for (const fault of faults) console.error(fault)
  process.exitCode = faults.length > 0 ? 1 : 0
})

function measure(name: keyof typeof limits, bytes: number): readonly string[] {
  const limit = limits[name]
  console.log(`${name.padEnd(10)}${toMegabytes(bytes)} of ${toMegabytes(limit)}`)
  return bytes > limit ? [`size: ${name} is ${bytes} bytes, ${bytes - limit} too many`] : []
}

function toMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2).padStart(6)} MB`
}
