/** `npm start`: builds, then serves the demo in this process, which tells how long both took. */
import { spawnSync } from 'node:child_process'

process.stderr.write(
  'Building Corral, then starting the demo; the build takes about half a minute.\n',
)
const began = Date.now()
const { npm_execpath: npm } = process.env
const build = npm
  ? spawnSync(process.execPath, [npm, 'run', '--silent', 'build'], { stdio: 'inherit' })
  : spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit', shell: true })
if (build.status !== 0) process.exit(build.status ?? 1)
process.env.CORRAL_BEGAN = String(began)
process.argv.splice(2, 0, 'demo')
await import('../dist/cli/main.js')
