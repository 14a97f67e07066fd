/** What `npm run build` does after the compiler: the console's page, and what of `dist` is packed. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { ignoreUnreached, removeStale, stripComments } from './package/dist.ts'
import { buildPage } from './page.ts'

const root = join(import.meta.dirname, '..')

removeStale(root)
stripComments(root)
// npm does that where it installs the package; in a clone, `npx corral` runs this very file.
chmodSync(join(root, 'dist/cli/corral.cjs'), 0o755)
ignoreUnreached(root)
await buildPage(root)
