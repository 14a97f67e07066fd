/** Links of a page, and the places in it to which links may lead. */
import { posix } from 'node:path'
import { parsePage } from './page.ts'

/** A link, or the source of a picture. */
export interface Link {
  readonly line: number
  readonly target: string
}

/** A stretch of code within a line. */
export interface Code {
  readonly line: number
  readonly text: string
}

const inline = /(`+)(?!`)(.*?)(?<!`)\1(?!`)/g
const targets = [
  /\]\(\s*<?([^)\s>]+)/g,
  /^\s*\[[^\]]+\]:\s*(\S+)/g,
  /\b(?:href|src|srcset)="([^"\s]+)"/g,
]

/** All links of a page, outside of code. */
export function linksOf(text: string): readonly Link[] {
  return wordsOf(text).flatMap(({ line, text: words }) => {
    const plain = words.replace(inline, '``')
    return targets.flatMap((pattern) =>
      [...plain.matchAll(pattern)].map(([, target = '']) => ({ line, target })),
    )
  })
}

/** Where a link leads within the repository. */
export interface LinkPlace {
  /** The path of a file or folder. */
  readonly file: string
  readonly anchor?: string
}

/** Where a link of a page leads; undefined where it leads out into the web. */
export function placeOf(page: string, target: string): LinkPlace | undefined {
  if (/^(?:[a-z][a-z+.-]*:|\/\/)/i.test(target)) return undefined
  const [, path = '', anchor] = /^([^?#]*)[^#]*(?:#(.*))?$/.exec(decodeURI(target)) ?? []
  const file = path === '' ? page : posix.join(posix.dirname(page), path).replace(/\/$/, '')
  return anchor === undefined ? { file } : { file, anchor }
}

/** The anchors of a page as GitHub makes them: of headings, repeated ones with a number, and of elements with an id. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  const counts = new Map<string, number>()
  for (const { text: words } of wordsOf(text)) {
    for (const [, id = ''] of words.matchAll(/<[a-z]+ [^>]*\b(?:id|name)="([^"]+)"/g))
      anchors.add(id)
    const [, heading] = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/.exec(words) ?? []
    if (heading === undefined) continue
    const slug = slugOf(heading)
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

/** The code within lines of words. */
export function codesOf(text: string): readonly Code[] {
  return wordsOf(text).flatMap(({ line, text: words }) =>
    [...words.matchAll(inline)].map(([, , code = '']) => ({ line, text: code.trim() })),
  )
}

function wordsOf(text: string): readonly Code[] {
  return parsePage(text).filter((item) => item.kind === 'words')
}

function slugOf(heading: string): string {
  return heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]+>/g, '')
    .replace(/\*\*|__|`/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}
