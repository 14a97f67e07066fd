/** What stands where: the pages, their sections, and the anchors of the names in them. */
import { ReflectionKind } from 'typedoc'

/** The section of names that lead elsewhere. */
export const otherNames = 'Also here'

/** The sections of a page, in order, and what belongs into each. */
const sections = [
  ['Functions', ReflectionKind.Function],
  ['Classes', ReflectionKind.Class],
  ['Values', ReflectionKind.Variable],
  ['Types', ReflectionKind.Interface | ReflectionKind.TypeAlias],
  [otherNames, ReflectionKind.Reference],
]

const anchors = new WeakMap()

/** Whether names can be imported from it. */
export function isEntrance(model) {
  return model?.kindOf(ReflectionKind.Module) ?? false
}

/** Whether it is made of members. */
export function isContainer(model) {
  return model.kindOf(ReflectionKind.Class | ReflectionKind.Interface)
}

/** The file of an entrance: `server.md` of `corral/server`, `store-custom.md` of `corral/store/custom`. */
export function nameOfPage(module) {
  return `${module.name.replace(/^corral\//, '').replaceAll('/', '-')}.md`
}

/** The page of the types that public names are written with. */
export const typesPage = 'types'

/** The names of a page by section, each with all that it means: a name may be a function and a type. */
export function sectionsOf(module) {
  const byName = groupBy(module.children, ({ name }) => name)
  const byTitle = groupBy([...byName], ([, meanings]) => titleOf(meanings))
  return new Map(
    sections.flatMap(([title]) => {
      const names = byTitle.get(title)
      return names ? [[title, new Map(names.sort(byWord))]] : []
    }),
  )
}

/** The anchors of the names of a page, as GitHub makes them of headings. */
export function slugsOf(module) {
  const known = anchors.get(module)
  if (known) return known
  const slug = createSlugger()
  const slugs = new Map()
  slug(module.name)
  for (const [title, names] of sectionsOf(module)) {
    slug(title)
    if (title !== otherNames) for (const name of names.keys()) slugs.set(name, slug(name))
  }
  anchors.set(module, slugs)
  return slugs
}

function createSlugger() {
  const used = new Map()
  return (heading) => {
    const plain = heading
      .toLowerCase()
      .replaceAll(' ', '-')
      .replace(/[^\w-]/g, '')
    const times = used.get(plain) ?? 0
    used.set(plain, times + 1)
    return times === 0 ? plain : `${plain}-${times}`
  }
}

function titleOf(meanings) {
  return sections.find(([, kind]) => meanings.some((one) => one.kindOf(kind)))?.[0]
}

function groupBy(items, keyOf) {
  const groups = new Map()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

function byWord([one], [other]) {
  return one.localeCompare(other, 'en')
}
