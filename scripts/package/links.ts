import { posix } from 'node:path'

/** Links of packed pages to files that are not packed, each as `page: link`. */
export function deadLinks(
  files: readonly string[],
  read: (page: string) => string,
): readonly string[] {
  const places = new Set(files.flatMap((file) => [file, ...foldersOf(file)]))
  const pages = files.filter((file) => file.endsWith('.md'))
  return pages.flatMap((page) =>
    linksOf(read(page))
      .filter((link) => !places.has(targetOf(page, link)))
      .map((link) => `${page}: ${link}`),
  )
}

/** Relative links of a page, those of pictures among them; code is no link. */
function linksOf(text: string): readonly string[] {
  const words = text.replace(/^(```+|~~~+)[\s\S]*?^\1/gm, '').replace(/(`+)[^`\n]*?\1/g, '')
  const inline = words.matchAll(/\]\(<?([^)\s>]+)/g)
  const named = words.matchAll(/^\[[^\]]+\]: +(\S+)/gm)
  const tags = words.matchAll(/<(?:img|a|source)\b[^>]*?\b(?:src|srcset|href)="([^"\s]+)"/g)
  return [...inline, ...named, ...tags]
    .map(([, link = '']) => link)
    .filter((link) => !/^(?:[a-z][a-z+.-]*:|#|\/\/)/i.test(link))
}

function targetOf(page: string, link: string): string {
  const path = decodeURI(link.replace(/[#?].*$/, ''))
  return posix.join(posix.dirname(page), path).replace(/\/$/, '')
}

function foldersOf(file: string): readonly string[] {
  const parts = file.split('/').slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}
