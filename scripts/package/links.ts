import { linksOf, placeOf } from '../markdown/links.ts'

/** Links of packed pages to files that are not packed, each as `page: link`. */
export function deadLinks(
  files: readonly string[],
  read: (page: string) => string,
): readonly string[] {
  const places = new Set(files.flatMap((file) => [file, ...foldersOf(file)]))
  const pages = files.filter((file) => file.endsWith('.md'))
  return pages.flatMap((page) =>
    linksOf(read(page)).flatMap(({ target }) => {
      const { file } = placeOf(page, target) ?? {}
      return file === undefined || places.has(file) ? [] : [`${page}: ${target}`]
    }),
  )
}

function foldersOf(file: string): readonly string[] {
  const parts = file.split('/').slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}
