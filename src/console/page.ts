import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'

/** The files of the built page. */
interface ConsolePage {
  /** The page itself; undefined where nobody has built it. */
  index(request: HttpRequest): HttpReply | undefined
  /** A file of it, by its name below `assets`; undefined where there is none. */
  asset(name: string, request: HttpRequest): HttpReply | undefined
}

/** Nothing but its own scripts and styles, no other origin, no frame around it. */
const policy = [
  ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"],
  ["img-src 'self' data:", "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"],
]
  .flat()
  .join('; ')

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  woff2: 'font/woff2',
}

interface BuiltFile {
  readonly plain: Uint8Array
  readonly gzipped: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** Finds the built page; its few files are read once, when somebody first asks. */
export function createConsolePage(folder: string | undefined = findFolder()): ConsolePage {
  let files: ReadonlyMap<string, BuiltFile> | undefined
  const find = (name: string): BuiltFile | undefined => {
    files ??= folder === undefined ? new Map() : readAll(folder)
    return files.get(name)
  }
  return {
    index: (request) => toReply(find('index.html'), request),
    asset: (name, request) => toReply(find(`assets/${name}`), request),
  }
}

/** Beside this file where the package is built; in a checkout, where the build puts it. */
function findFolder(): string | undefined {
  const places = ['./page/', '../../dist/console/page/']
  return places
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((place) => existsSync(join(place, 'index.html')))
}

function readAll(folder: string): ReadonlyMap<string, BuiltFile> {
  const files = new Map<string, BuiltFile>()
  if (!existsSync(join(folder, 'index.html'))) return files
  const names = ['index.html']
  if (existsSync(join(folder, 'assets')))
    for (const name of readdirSync(join(folder, 'assets'))) names.push(`assets/${name}`)
  for (const name of names) {
    const type = types[name.slice(name.lastIndexOf('.') + 1)]
    if (type === undefined) continue
    const plain = readFileSync(join(folder, name))
    files.set(name, { plain, gzipped: gzipSync(plain), headers: headersOf(name, type) })
  }
  return files
}

/** Assets have a hash in their names, so they never change; the page may with every version. */
function headersOf(name: string, type: string): Readonly<Record<string, string>> {
  const isPage = name === 'index.html'
  return {
    'content-type': type,
    'content-security-policy': policy,
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': isPage ? 'no-cache' : 'public, max-age=31536000, immutable',
    vary: isPage ? 'Accept, Accept-Encoding' : 'Accept-Encoding',
  }
}

function toReply(file: BuiltFile | undefined, { headers }: HttpRequest): HttpReply | undefined {
  if (!file) return undefined
  const takesGzip = /\bgzip\b/.test(headers['accept-encoding'] ?? '')
  if (!takesGzip) return { status: 200, headers: file.headers, body: file.plain }
  return {
    status: 200,
    headers: { ...file.headers, 'content-encoding': 'gzip' },
    body: file.gzipped,
  }
}
