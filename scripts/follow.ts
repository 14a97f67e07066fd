/**
 * `npm run follow [-- --page FILE]… [--json] [--keep]`: does what README and the guides say, word by word, as a reader
 * would: in a fresh clone of what is committed, in empty folders, in new projects with the packed package. Each page has
 * a folder, a home and an environment of its own. Exits with 1 where a page says what is not so.
 */
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createFollower, type Page } from './follow/pages.ts'
import { createPlaces } from './follow/places.ts'
import { claimUsualPort } from './follow/port.ts'
import { type Followed, toLine, toSummary } from './follow/report.ts'
import { followedPages } from './markdown/tree.ts'

const root = join(import.meta.dirname, '..')
const { values } = parseArgs({
  options: {
    page: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})
const say = (text: string): void => {
  if (!values.json) console.log(text)
}
const maxMs = 240_000
const folder = mkdtempSync(join(tmpdir(), 'corral-follow-'))
// What a page starts may run as somebody else: PostgreSQL does not run as root.
chmodSync(folder, 0o755)
const follower = createFollower({
  places: createPlaces(root, folder),
  folder,
  maxMs,
  claimPort: claimUsualPort,
  begin: (page, place) => say(`\n${page} (${place})`),
  tell: (done) => say(toLine(done)),
})
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
process.once('exit', () => {
  follower.kill()
  if (values.keep) say(`Everything is left in ${folder}`)
  // A hundred thousand files: nobody need wait for that.
  else spawn('rm', ['-rf', folder], { detached: true, stdio: 'ignore' }).unref()
})

const began = Date.now()
const followed: Followed[] = []
for (const page of (values.page ?? followedPages(root)).map(toPage))
  followed.push(...(await follower.follow(page)))
const seconds = (Date.now() - began) / 1000
if (values.json) console.log(JSON.stringify({ seconds, followed }, null, 2))
else console.log(toSummary(followed, seconds))
process.exit(followed.some(({ done }) => done.some(({ outcome }) => outcome === 'fault')) ? 1 : 0)

function toPage(name: string): Page {
  const text = readFileSync(join(root, name), 'utf8')
  return { name, text, place: name === 'README.md' ? 'clone' : 'project' }
}
