/**
 * Interfaces that have one implementation and are used in one folder only: a bag of methods that one part of a folder
 * hands to another part of it. The parts can have the thing itself instead.
 */
import { type ESTree, Visitor } from 'rolldown/utils'
import { publicSurface } from './public.ts'
import { folderOf, lineAt, type Source, type Tree } from './tree.ts'

/** A declared interface and what the walk found about it. */
interface Declared {
  /** Where it is declared, for a person. */
  readonly place: string
  readonly folder: string
  /** The interfaces that it extends, as keys. */
  readonly bases: readonly string[]
  /** The files that name it or make a value of it, its own included. */
  readonly users: Set<string>
  /** Where a value of it is made: `path:line`. */
  readonly made: Set<string>
  /** Whether a function of its own file returns an object literal of it. */
  isResult: boolean
  isPublic: boolean
}

/** A file together with what its names mean: a name in the file → `path#name` of the declaration. */
interface Scope {
  readonly source: Source
  readonly names: ReadonlyMap<string, string>
}

/** The type of each parameter of a function or constructor, as a key, by the `path#name` of the function or class. */
type Signatures = ReadonlyMap<string, readonly (string | undefined)[]>

/**
 * Lists the interfaces that
 * - have at least one member that is a function,
 * - are named and made only by files of their own top folder, and are neither exported by an entrance nor needed by what
 *   one exports, and
 * - have exactly one implementation. One place each: a class that `implements` the interface; a function declared to
 *   return it (or a promise of it) that returns an object literal; an object literal that is assigned to a variable or
 *   field declared with it, or marked `as` or `satisfies`; an object literal passed to a function or constructor whose
 *   parameter is declared with it. An implementation of an interface also implements those that it extends.
 * Not counted: an interface of which the one implementation is what a function of the same file returns. That is a class
 * written with closures, and the interface is the type of its instances.
 */
export function singleImplementations(tree: Tree, page: Tree): string[] {
  const scopes = [...tree.values()].map((source) => ({ source, names: namesOf(source, tree) }))
  const declared = declaredIn(scopes)
  const signatures: Signatures = new Map(scopes.flatMap(signaturesOf))
  for (const scope of scopes) noteUses(scope, declared)
  const { names, needed } = publicSurface(tree)
  for (const place of [...names.map((one) => one.place), ...needed]) {
    const one = declared.get(place)
    if (one) one.isPublic = true
  }
  for (const source of page.values())
    for (const key of namesOf(source, tree).values()) declared.get(key)?.users.add(source.path)
  for (const scope of scopes)
    for (const one of implementationsIn(scope, signatures)) addTo(declared, one.key, one)
  return [...declared.values()]
    .filter(({ isPublic, isResult, made }) => !isPublic && !isResult && made.size === 1)
    .filter(({ folder, users }) => [...users].every((user) => folderOf(user) === folder))
    .map(({ place, made }) => `${place}, made at ${[...made].join()}`)
}

function addTo(
  declared: ReadonlyMap<string, Declared>,
  key: string,
  implementation: Implementation,
): void {
  const one = declared.get(key)
  if (!one || one.made.has(implementation.place)) return
  one.made.add(implementation.place)
  one.users.add(implementation.path)
  if (implementation.isReturned && key.startsWith(`${implementation.path}#`)) one.isResult = true
  for (const base of one.bases) addTo(declared, base, implementation)
}

/** What a file declares or imports; an import is followed to the file that declares the name. */
function namesOf({ path, program, imports }: Source, tree: Tree): Map<string, string> {
  const names = new Map<string, string>()
  for (const node of program.body) {
    const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : node
    if (declaration?.type === 'VariableDeclaration')
      for (const { id } of declaration.declarations)
        if (id.type === 'Identifier') names.set(id.name, `${path}#${id.name}`)
    if (declaration && 'id' in declaration && declaration.id?.type === 'Identifier')
      names.set(declaration.id.name, `${path}#${declaration.id.name}`)
  }
  const targets = new Map(imports.map(({ specifier, target }) => [specifier, target]))
  for (const node of program.body) {
    if (node.type !== 'ImportDeclaration') continue
    const target = targets.get(node.source.value)
    for (const one of node.specifiers)
      if (target && one.type === 'ImportSpecifier' && one.imported.type === 'Identifier')
        names.set(one.local.name, declarationOf(target, one.imported.name, tree))
  }
  return names
}

function declarationOf(path: string, name: string, tree: Tree): string {
  const from = tree.get(path)?.exports.find((one) => one.name === name)?.from
  return from ? declarationOf(from.target, from.name, tree) : `${path}#${name}`
}

function declaredIn(scopes: readonly Scope[]): Map<string, Declared> {
  const declared = new Map<string, Declared>()
  for (const { source, names } of scopes)
    for (const node of source.program.body) {
      const found = node.type === 'ExportNamedDeclaration' ? node.declaration : node
      if (found?.type !== 'TSInterfaceDeclaration') continue
      if (!found.body.body.some(isFunctionMember)) continue
      declared.set(`${source.path}#${found.id.name}`, {
        place: `${source.path}:${lineAt(source.text, found.start)}: ${found.id.name}`,
        folder: folderOf(source.path),
        bases: found.extends.flatMap(({ expression }) =>
          expression.type === 'Identifier' ? (names.get(expression.name) ?? []) : [],
        ),
        users: new Set([source.path]),
        made: new Set(),
        isResult: false,
        isPublic: false,
      })
    }
  return declared
}

function isFunctionMember(member: ESTree.TSSignature): boolean {
  if (member.type === 'TSMethodSignature') return true
  if (member.type !== 'TSPropertySignature') return false
  return isFunctionType(member.typeAnnotation?.typeAnnotation)
}

function isFunctionType(type: ESTree.TSType | undefined): boolean {
  if (type?.type === 'TSUnionType') return type.types.some(isFunctionType)
  if (type?.type === 'TSParenthesizedType') return isFunctionType(type.typeAnnotation)
  return type?.type === 'TSFunctionType'
}

/** Notes which interfaces a file imports, and which it passes on. */
function noteUses({ source, names }: Scope, declared: ReadonlyMap<string, Declared>): void {
  for (const key of names.values()) declared.get(key)?.users.add(source.path)
  for (const { name, from } of source.exports) {
    const one = declared.get(from ? `${from.target}#${from.name}` : `${source.path}#${name}`)
    one?.users.add(source.path)
  }
}

/** The parameters of the functions and constructors at the top of a file. */
function signaturesOf({
  source: { path, program },
  names,
}: Scope): [string, (string | undefined)[]][] {
  const found: [string, (string | undefined)[]][] = []
  const add = (name: string, params: readonly ESTree.ParamPattern[]): void => {
    const types = params.map((one) => keyOf(annotationOf(one), names))
    if (types.some((type) => type !== undefined)) found.push([`${path}#${name}`, types])
  }
  for (const node of program.body) {
    const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : node
    if (declaration?.type === 'FunctionDeclaration' && declaration.id)
      add(declaration.id.name, declaration.params)
    if (declaration?.type === 'VariableDeclaration')
      for (const { id, init } of declaration.declarations)
        if (id.type === 'Identifier' && isFunction(init)) add(id.name, init.params)
    if (declaration?.type === 'ClassDeclaration' && declaration.id)
      for (const member of declaration.body.body)
        if (member.type === 'MethodDefinition' && member.kind === 'constructor')
          add(declaration.id.name, member.value.params)
  }
  return found
}

function isFunction(
  node: ESTree.Expression | null,
): node is ESTree.ArrowFunctionExpression | ESTree.Function {
  return node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression'
}

/** A place where a value of an interface is made. */
interface Implementation {
  readonly key: string
  readonly path: string
  readonly place: string
  /** By a function that returns an object literal. */
  readonly isReturned: boolean
}

/** Every place of a file where a value of an interface is made. */
function implementationsIn(
  { source: { path, text, program }, names }: Scope,
  signatures: Signatures,
): Implementation[] {
  const found: Implementation[] = []
  const add = (key: string | undefined, { start }: ESTree.Node, isReturned = false): void => {
    const place = `${path}:${lineAt(text, start)}`
    if (key !== undefined) found.push({ key, path, place, isReturned })
  }
  const fields = fieldsOf(program, names)
  const returning: (string | undefined)[] = []
  const enter = ({
    returnType,
  }: {
    readonly returnType?: ESTree.TSTypeAnnotation | null | undefined
  }): void => void returning.push(keyOf(returnType?.typeAnnotation, names))
  const leave = (): void => void returning.pop()
  const passed = ({ callee, arguments: given }: ESTree.CallExpression | ESTree.NewExpression) => {
    if (callee.type !== 'Identifier') return
    const types = signatures.get(names.get(callee.name) ?? '') ?? []
    given.forEach((one, at) => {
      if (isLiteral(one)) add(types[at], one)
    })
  }
  new Visitor({
    ClassDeclaration: (node) => {
      for (const { expression } of node.implements ?? [])
        if (expression.type === 'Identifier') add(names.get(expression.name), node)
    },
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: (node) => {
      enter(node)
      if (node.body.type !== 'BlockStatement' && isLiteral(node.body))
        add(returning.at(-1), node.body, true)
    },
    'ArrowFunctionExpression:exit': leave,
    ReturnStatement: ({ argument }) => {
      if (argument && isLiteral(argument)) add(returning.at(-1), argument, true)
    },
    VariableDeclarator: ({ id, init }) => {
      if (init && isLiteral(init)) add(keyOf(annotationOf(id), names), init)
    },
    PropertyDefinition: ({ typeAnnotation, value }) => {
      if (value && isLiteral(value)) add(keyOf(typeAnnotation?.typeAnnotation, names), value)
    },
    AssignmentExpression: ({ left, right }) => {
      if (left.type === 'MemberExpression' && isLiteral(right))
        add(fields.get(text.slice(left.start, left.end)), right)
    },
    TSAsExpression: ({ expression, typeAnnotation }) => {
      if (isLiteral(expression)) add(keyOf(typeAnnotation, names), expression)
    },
    TSSatisfiesExpression: ({ expression, typeAnnotation }) => {
      if (isLiteral(expression)) add(keyOf(typeAnnotation, names), expression)
    },
    CallExpression: passed,
    NewExpression: passed,
  }).visit(program)
  return found
}

/** The declared types of a file's class fields, by how an assignment names them: `this.#host`. */
function fieldsOf(
  program: ESTree.Program,
  names: ReadonlyMap<string, string>,
): Map<string, string | undefined> {
  const fields = new Map<string, string | undefined>()
  new Visitor({
    PropertyDefinition: ({ key, typeAnnotation }) => {
      const type = keyOf(typeAnnotation?.typeAnnotation, names)
      if (key.type === 'PrivateIdentifier') fields.set(`this.#${key.name}`, type)
      if (key.type === 'Identifier') fields.set(`this.${key.name}`, type)
    },
  }).visit(program)
  return fields
}

function annotationOf(
  node: ESTree.ParamPattern | ESTree.BindingPattern,
): ESTree.TSType | undefined {
  if (node.type === 'AssignmentPattern') return annotationOf(node.left)
  if (node.type === 'TSParameterProperty' || node.type === 'RestElement') return undefined
  return node.typeAnnotation?.typeAnnotation
}

/** The interface that a type names, by itself or as a promise of it. */
function keyOf(
  type: ESTree.TSType | undefined,
  names: ReadonlyMap<string, string>,
): string | undefined {
  if (type?.type !== 'TSTypeReference' || type.typeName.type !== 'Identifier') return undefined
  const { name } = type.typeName
  return name === 'Promise' ? keyOf(type.typeArguments?.params[0], names) : names.get(name)
}

function isLiteral(node: ESTree.Node): boolean {
  return node.type === 'ParenthesizedExpression'
    ? isLiteral(node.expression)
    : node.type === 'ObjectExpression'
}
