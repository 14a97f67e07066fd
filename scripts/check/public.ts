import type { ESTree } from 'rolldown/utils'
import { isEntrance } from './layers.ts'
import { type Source, type Tree, targetOf } from './tree.ts'

/** What users can import, and the types that its declarations are written with. */
export interface PublicSurface {
  readonly names: readonly PublicName[]
  /** `file#name` of every type that the declaration of a public name uses, and of those that these use. */
  readonly needed: ReadonlySet<string>
}

/** A name that an entrance exports. */
export interface PublicName {
  readonly entrance: string
  readonly name: string
  /** `file#name` where it is declared. */
  readonly place: string
}

/** Public names that no page and no example mentions, and that no other public name needs to be understood. */
export function checkPublicNames(tree: Tree, mentioned: ReadonlySet<string>): string[] {
  const { names, needed } = publicSurface(tree)
  return names
    .filter(({ name, place }) => !mentioned.has(name) && !needed.has(place))
    .map(
      ({ entrance, name }) =>
        `${entrance}: ${name} is on no page and in no example; mention it, or do not export it`,
    )
}

/** The surfaces of trees that were read already: several rules ask for the same one. */
const known = new WeakMap<Tree, PublicSurface>()

/** Reads the entrances, and follows the types of their declarations through the tree. */
export function publicSurface(tree: Tree): PublicSurface {
  const surface = known.get(tree) ?? readSurface(tree)
  known.set(tree, surface)
  return surface
}

function readSurface(tree: Tree): PublicSurface {
  const names = [...tree.values()]
    .filter(({ path }) => isEntrance(path))
    .flatMap(({ path, exports }) =>
      exports.map(({ name }) => ({ entrance: path, name, place: placeOf(tree, path, name) })),
    )
  const modules = new Map<string, Module>()
  const module = (path: string): Module => {
    const parsed = modules.get(path) ?? parseModule(tree.get(path))
    modules.set(path, parsed)
    return parsed
  }
  const typesOf = (place: string): string[] => {
    const [path = '', name = ''] = place.split('#')
    const { declared, imported } = module(path)
    const found = (declared.get(name) ?? []).flatMap((node) => [...typesIn(node)])
    return [...new Set(found)].flatMap((type) => {
      const [whole = '', member] = type.split('.')
      const from = member === undefined ? imported.get(type) : within(imported.get(whole), member)
      if (from) return tree.has(from.target) ? [placeOf(tree, from.target, from.name)] : []
      return declared.has(type) ? [`${path}#${type}`] : []
    })
  }
  const needed = new Set<string>()
  const waiting = names.map(({ place }) => place)
  for (let place = waiting.pop(); place; place = waiting.pop())
    for (const type of typesOf(place)) {
      if (needed.has(type)) continue
      needed.add(type)
      waiting.push(type)
    }
  return { names, needed }
}

/** A name of a file; `*` for all of them. */
interface Imported {
  readonly target: string
  readonly name: string
}

/** What a file declares at its top, and where the names come from that it imports. */
interface Module {
  readonly declared: ReadonlyMap<string, readonly unknown[]>
  readonly imported: ReadonlyMap<string, Imported>
}

/** A member of a module that was imported whole. */
function within(module: Imported | undefined, name: string): Imported | undefined {
  return module && { target: module.target, name }
}

/** Where a name is declared, through the files that pass it on. */
function placeOf(tree: Tree, path: string, name: string): string {
  const from = tree.get(path)?.exports.find((one) => one.name === name)?.from
  return from && tree.has(from.target) ? placeOf(tree, from.target, from.name) : `${path}#${name}`
}

function parseModule(source: Source | undefined): Module {
  const declared = new Map<string, unknown[]>()
  const imported = new Map<string, Imported>()
  for (const node of source?.program.body ?? []) {
    if (source && node.type === 'ImportDeclaration') readImport(source.path, node, imported)
    const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : node
    for (const name of namesOf(declaration))
      declared.set(name, [...(declared.get(name) ?? []), declaration])
  }
  return { declared, imported }
}

function readImport(
  path: string,
  node: ESTree.ImportDeclaration,
  imported: Map<string, Imported>,
): void {
  const target = targetOf(path, node.source.value)
  for (const one of node.specifiers) {
    if (!target || one.type === 'ImportDefaultSpecifier') continue
    const name = one.type === 'ImportSpecifier' ? importedName(one.imported) : '*'
    imported.set(one.local.name, { target, name })
  }
}

function importedName(name: ESTree.ModuleExportName): string {
  return name.type === 'Literal' ? name.value : name.name
}

function namesOf(node: unknown): string[] {
  const { type, declarations = [], id } = fields(node)
  if (type === 'VariableDeclaration')
    return asList(declarations).flatMap((one) => namesOf({ id: fields(one).id }))
  const { name } = fields(id)
  return typeof name === 'string' ? [name] : []
}

/** The names of the types that a declaration is written with: neither bodies, values nor private members count. */
function* typesIn(node: unknown): Generator<string> {
  if (Array.isArray(node)) for (const one of node) yield* typesIn(one)
  const { type, ...rest } = fields(node)
  if (type === undefined || isPrivate(node)) return
  const { name, left, right } = fields(rest[nameKeys[String(type)] ?? ''])
  if (typeof name === 'string') yield name
  if (left !== undefined) yield `${fields(left).name}.${fields(right).name}`
  const skipped = skippedKeys(String(type), rest)
  for (const [key, value] of Object.entries(rest)) if (!skipped.includes(key)) yield* typesIn(value)
}

/** Where a node that refers to a type or class has its name. */
const nameKeys: Readonly<Record<string, string>> = {
  TSTypeReference: 'typeName',
  TSTypeQuery: 'exprName',
  TSClassImplements: 'expression',
  TSInterfaceHeritage: 'expression',
  ClassDeclaration: 'superClass',
}

function skippedKeys(type: string, { id, params }: Fields): readonly string[] {
  if (type === 'PropertyDefinition') return ['value', 'key']
  if (type === 'VariableDeclarator') return fields(id).typeAnnotation ? ['init'] : []
  // The body of a class or interface has its members; that of a function says nothing to its caller.
  return params !== undefined && !type.startsWith('TS') ? ['body'] : []
}

function isPrivate(node: unknown): boolean {
  const { key, accessibility } = fields(node)
  return accessibility === 'private' || fields(key).type === 'PrivateIdentifier'
}

type Fields = Readonly<Record<string, unknown>>

function fields(node: unknown): Fields {
  return typeof node === 'object' && node !== null && !Array.isArray(node)
    ? // Any object has keys; what stands behind them is not known.
      (node as Fields)
    : {}
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
