/**
 * The source tree as the checks see it: every file parsed once, reduced to what the rules ask about. A tree is made of
 * a map from path to text, so that a test can plant a breach without touching a disk.
 */
import { posix } from 'node:path'
import { type ESTree, parseSync, Visitor } from 'rolldown/utils'

/** One `import`, `export … from` or `import()` of another file. */
export interface Import {
  readonly specifier: string
  /** The file within `src` that a relative specifier means. */
  readonly target: string | undefined
  /** Leaves nothing at run time. */
  readonly typeOnly: boolean
  /** Loaded on first use, by `import()`. */
  readonly lazy: boolean
  /** The names asked for; `undefined` where the whole module is taken, `*` where it is passed on whole. */
  readonly names: readonly string[] | undefined | '*'
}

/** Where a comment begins and ends in the text. */
export interface Comment {
  readonly start: number
  readonly end: number
}

/** One exported name. */
export interface Export {
  readonly name: string
  readonly line: number
  /** Where the name comes from, if it is only passed on. */
  readonly from: { readonly target: string; readonly name: string } | undefined
}

/** One file, by its path from `src`. */
export interface Source {
  readonly path: string
  readonly text: string
  readonly program: ESTree.Program
  readonly comments: readonly Comment[]
  readonly imports: readonly Import[]
  readonly exports: readonly Export[]
}

/** Files by their path from `src`; one outside of it begins with `../`, as in `../test/a.ts`. */
export type Tree = ReadonlyMap<string, Source>

/** Parses all files. */
export function createTree(files: Readonly<Record<string, string>>): Tree {
  return new Map(Object.entries(files).map(([path, text]) => [path, parse(path, text)]))
}

/** The first folder of a path; of a file at the top its name; of the console's page `../console`. */
export function folderOf(path: string): string {
  const [first = path, second] = path.split('/')
  return first === '..' ? `../${second}` : first
}

/** The number of the line at an offset, counted from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

function parse(path: string, text: string): Source {
  const { program, comments, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`)
  return {
    path,
    text,
    program,
    comments,
    imports: importsOf(path, program),
    exports: exportsOf(path, text, program),
  }
}

function importsOf(path: string, program: ESTree.Program): Import[] {
  const imports: Import[] = []
  const add = (
    source: unknown,
    typeOnly: boolean,
    names: Import['names'],
    lazy: boolean = false,
  ): void => {
    if (typeof source !== 'string') return
    imports.push({ specifier: source, target: targetOf(path, source), typeOnly, lazy, names })
  }
  new Visitor({
    ImportDeclaration: (node) => {
      const whole = node.specifiers.some((one) => one.type === 'ImportNamespaceSpecifier')
      const names = node.specifiers.flatMap((one) =>
        one.type === 'ImportSpecifier' ? [nameOf(one.imported)] : [],
      )
      add(node.source.value, node.importKind === 'type', whole ? undefined : names)
    },
    ExportNamedDeclaration: (node) => {
      const names = node.specifiers.map((one) => nameOf(one.local))
      if (node.source) add(node.source.value, node.exportKind === 'type', names)
    },
    ExportAllDeclaration: (node) => add(node.source.value, node.exportKind === 'type', '*'),
    ImportExpression: (node) =>
      add(node.source.type === 'Literal' ? node.source.value : undefined, false, undefined, true),
    TSImportType: (node) => add(node.source.value, true, undefined),
  }).visit(program)
  return imports
}

function exportsOf(path: string, text: string, program: ESTree.Program): Export[] {
  const imported = new Map<string, { target: string; name: string }>()
  const exports: Export[] = []
  for (const node of program.body) {
    if (node.type === 'ImportDeclaration') {
      const target = targetOf(path, node.source.value)
      for (const one of node.specifiers)
        if (target && one.type === 'ImportSpecifier')
          imported.set(one.local.name, { target, name: nameOf(one.imported) })
    }
    if (node.type !== 'ExportNamedDeclaration') continue
    const line = lineAt(text, node.start)
    for (const name of declaredBy(node.declaration)) exports.push({ name, line, from: undefined })
    const target = node.source ? targetOf(path, node.source.value) : undefined
    for (const one of node.specifiers) {
      const local = nameOf(one.local)
      const from = target ? { target, name: local } : imported.get(local)
      exports.push({ name: nameOf(one.exported), line: lineAt(text, one.start), from })
    }
  }
  // The signatures of an overloaded function export one name.
  return exports.filter((one, at) => exports.findIndex(({ name }) => name === one.name) === at)
}

function declaredBy(declaration: ESTree.Declaration | null): string[] {
  if (!declaration) return []
  if (declaration.type === 'VariableDeclaration')
    return declaration.declarations.flatMap(({ id }) => boundBy(id))
  if (!('id' in declaration) || declaration.id?.type !== 'Identifier') return []
  return [declaration.id.name]
}

function boundBy(pattern: ESTree.BindingPattern): string[] {
  if (pattern.type === 'Identifier') return [pattern.name]
  if (pattern.type === 'ObjectPattern')
    return pattern.properties.flatMap((one) =>
      one.type === 'Property' ? boundBy(one.value) : boundBy(one.argument),
    )
  return []
}

function nameOf(name: ESTree.ModuleExportName): string {
  return name.type === 'Literal' ? name.value : name.name
}

/** How many lines a text has. */
export function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

/** The file of `src` that a relative specifier means. */
export function targetOf(path: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  return posix.join(posix.dirname(path), specifier).replace(/^\.\.\/src\//, '')
}
