/**
 * What users can import: every name of every entrance, as the built declarations have it. The reference is made of it,
 * and a test holds the two together without making the reference again.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type ESTree, parseSync } from 'rolldown/utils'

/** A name that users can import. */
export interface PublicName {
  /** What it is imported from: `corral/server`. */
  readonly entrance: string
  readonly name: string
  /** Its declarations, each with its comment. */
  readonly declarations: readonly string[]
}

/** The parts of a manifest that say what can be imported. */
export interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

/** Reads the names of all entrances, in the manifest's order. */
export function readSurface(root: string, manifest: Manifest): readonly PublicName[] {
  const modules = new Map<string, Module>()
  return Object.entries(manifest.exports).flatMap(([path, target]) => {
    if (typeof target === 'string') return []
    const file = join(root, target.types)
    return namesOf(file, modules).map((name) => ({
      entrance: manifest.name + path.slice(1),
      name,
      declarations: declarationsOf({ file, name }, modules),
    }))
  })
}

/** Whether each declaration of a name begins with a sentence. */
export function isDocumented({ declarations }: PublicName): boolean {
  return (
    declarations.length > 0 &&
    declarations.every((text) => /^\/\*\*\s*\*?\s*\w|^\/\*\*\s*\*?\s*`/.test(text))
  )
}

/** A digest of everything that the reference is made of. */
export function digestOf(names: readonly PublicName[]): string {
  const hash = createHash('sha256')
  for (const { entrance, name, declarations } of names)
    hash.update([entrance, name, ...declarations, ''].join('\n'))
  return hash.digest('hex')
}

/** A name in a file. */
interface Place {
  readonly file: string
  readonly name: string
}

/** A file of declarations: what it declares, and what it passes on. */
interface Module {
  readonly declared: ReadonlyMap<string, readonly string[]>
  /** What its exports are called where they are declared, or passed on from. */
  readonly exported: ReadonlyMap<string, Place>
  /** Files that it passes on whole. */
  readonly whole: readonly string[]
}

function namesOf(file: string, modules: Map<string, Module>): readonly string[] {
  const { exported, whole } = moduleOf(file, modules)
  const names = [...exported.keys(), ...whole.flatMap((one) => namesOf(one, modules))]
  return [...new Set(names)].sort()
}

function declarationsOf({ file, name }: Place, modules: Map<string, Module>): readonly string[] {
  const { declared, exported, whole } = moduleOf(file, modules)
  const place = exported.get(name)
  if (place && place.file !== file) return declarationsOf(place, modules)
  const own = declared.get(place?.name ?? name)
  if (own) return own
  return (
    whole
      .map((one) => declarationsOf({ file: one, name }, modules))
      .find((one) => one.length > 0) ?? []
  )
}

function moduleOf(file: string, modules: Map<string, Module>): Module {
  const known = modules.get(file)
  if (known) return known
  const module = parseModule(file)
  modules.set(file, module)
  return module
}

function parseModule(file: string): Module {
  const text = readFileSync(file, 'utf8')
  const { program, comments } = parseSync(file, text)
  const declared = new Map<string, string[]>()
  const exported = new Map<string, Place>()
  const imported = new Map<string, Place>()
  const whole: string[] = []
  for (const node of program.body) {
    if (node.type === 'ExportAllDeclaration') whole.push(targetOf(file, node.source.value))
    if (node.type === 'ImportDeclaration')
      for (const one of node.specifiers)
        if (one.type === 'ImportSpecifier')
          imported.set(one.local.name, {
            file: targetOf(file, node.source.value),
            name: nameOf(one.imported),
          })
    for (const name of declaredBy(node)) {
      const comment = comments.findLast(
        ({ end }) => end <= node.start && text.slice(end, node.start).trim() === '',
      )
      declared.set(name, [
        ...(declared.get(name) ?? []),
        text.slice(comment?.start ?? node.start, node.end),
      ])
      if (node.type === 'ExportNamedDeclaration') exported.set(name, { file, name })
    }
    if (node.type !== 'ExportNamedDeclaration') continue
    for (const one of node.specifiers) {
      const local = nameOf(one.local)
      const here = imported.get(local) ?? { file, name: local }
      exported.set(
        nameOf(one.exported),
        node.source ? { file: targetOf(file, node.source.value), name: local } : here,
      )
    }
  }
  return { declared, exported, whole }
}

function declaredBy(node: ESTree.Directive | ESTree.Statement): readonly string[] {
  const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : node
  if (!declaration) return []
  if (declaration.type === 'VariableDeclaration')
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []))
  if (!('id' in declaration) || declaration.id?.type !== 'Identifier') return []
  return [declaration.id.name]
}

function nameOf(name: ESTree.ModuleExportName): string {
  return name.type === 'Literal' ? name.value : name.name
}

/** The declarations that a relative specifier means; sources and outputs are spelled alike there. */
function targetOf(file: string, specifier: string): string {
  return join(dirname(file), specifier.replace(/\.[jt]s$/, '.d.ts'))
}
