import { type ESTree, Visitor } from 'rolldown/utils'
import { lineAt, type Source, type Tree } from './tree.ts'

/** Says what is wrong at a place. */
type Add = (start: number, words: string) => void

/** Looks through every file but those of the owners, and gathers what is found, by file and line. */
function faultsIn(
  tree: Tree,
  owners: readonly string[],
  look: (source: Source, add: Add) => ConstructorParameters<typeof Visitor>[0],
): string[] {
  return [...tree.values()].flatMap((source) => {
    if (owners.includes(source.path)) return []
    const faults: string[] = []
    const add: Add = (start, words) => void faults.push(`${place(source, start)}: ${words}`)
    new Visitor(look(source, add)).visit(source.program)
    return faults
  })
}

/** Where the machine's time is read and its timers are set, for everybody else. */
const ownersOfTime = ['shared/clock.ts', 'shared/async.ts']

/** Time comes from a `Clock`: what reads the machine's own cannot be tested without waiting. */
export function checkClock(tree: Tree): string[] {
  return faultsIn(tree, ownersOfTime, ({ text }, add) => ({
    CallExpression: ({ callee, start }) => {
      const name = text.slice(callee.start, callee.end)
      if (/^(?:Date\.now|performance\.now|setTimeout|setInterval)$/.test(name))
        add(start, `${name} passes the clock by`)
    },
    NewExpression: ({ callee, arguments: { length }, start }) => {
      if (callee.type === 'Identifier' && callee.name === 'Date' && length === 0)
        add(start, 'new Date() passes the clock by')
    },
  }))
}

/** Where output leaves, for everybody else; `eval-options` lends the terminal to a person who plays the user. */
const ownersOfOutput = [
  'shared/log.ts',
  'cli/screen.ts',
  'cli/main.ts',
  'cli/commands/eval-options.ts',
]

/** Output leaves by a `Screen` or a `Logger`: what writes past them shows a stranger's words as they came. */
export function checkOutput(tree: Tree): string[] {
  return faultsIn(tree, ownersOfOutput, ({ text }, add) => ({
    MemberExpression: ({ object, start, end }) => {
      const name = text.slice(start, end)
      const isConsole = object.type === 'Identifier' && object.name === 'console'
      if (isConsole || /^process\s*\.\s*std(?:out|err)$/.test(name))
        add(start, `${name} passes the screen by`)
    },
  }))
}

/** Once Node 20 or 22 has compiled `URL.canParse`, it refuses hosts with letters beyond ASCII. */
export function checkUrls(tree: Tree): string[] {
  return faultsIn(tree, [], ({ text }, add) => ({
    MemberExpression: ({ start, end }) => {
      if (text.slice(start, end) === 'URL.canParse')
        add(start, 'URL.canParse refuses hosts with ü; use shared/text.ts')
    },
  }))
}

/** Objects with accessors that are made once, or so few that it does not matter; Zod wants its own so. */
const ownersOfAccessors = [
  'app/config/steps.ts',
  'cli/screen.ts',
  'client/connection.ts',
  'compat/workshop.ts',
  'network/guard.ts',
  'store/postgres/cluster.ts',
]

/**
 * An object with an accessor of its own has a shape of its own, which V8 makes in the old generation and with it the
 * function and all that it sees: nothing of that goes before the next full collection. A class has its accessors once.
 */
export function checkAccessors(tree: Tree): string[] {
  return faultsIn(tree, ownersOfAccessors, (_, add) => ({
    ObjectExpression: ({ properties }) => {
      for (const property of properties)
        if (property.type === 'Property' && property.kind !== 'init')
          add(property.start, 'an accessor of one object; make a class')
    },
  }))
}

/** A text that a loop makes shorter bit by bit is copied as often as it has bits: an index goes through it once. */
export function checkTrimming(tree: Tree): string[] {
  return [...tree.values()].flatMap((source) => {
    const loops: ESTree.Node[] = []
    const cuts: ESTree.AssignmentExpression[] = []
    new Visitor({
      WhileStatement: (node) => void loops.push(node),
      DoWhileStatement: (node) => void loops.push(node),
      ForStatement: (node) => void loops.push(node),
      AssignmentExpression: (node) => {
        if (isCut(source, node)) cuts.push(node)
      },
    }).visit(source.program)
    return cuts
      .filter(({ start, end }) => loops.some((loop) => loop.start < start && end <= loop.end))
      .map(
        (cut) => `${place(source, cut.start)}: a loop that cuts its text; go through it by index`,
      )
  })
}

/** Whether a value becomes a part of itself: `text = text.slice(1)`. */
function isCut({ text }: Source, { left, right }: ESTree.AssignmentExpression): boolean {
  if (right.type !== 'CallExpression') return false
  const [name, call] = [text.slice(left.start, left.end), text.slice(right.start, right.end)]
  return /^\.(?:slice|substring|substr|replace|trim\w*)\(/.test(
    call.startsWith(name) ? call.slice(name.length) : '',
  )
}

/** A function that a file has for itself stands below the first declaration that uses it: a file reads downwards. */
export function checkOrder(tree: Tree): string[] {
  return [...tree.values()].flatMap((source) => {
    const seen = new Set<string>()
    const unused = new Map<string, number>()
    const faults: string[] = []
    for (const node of source.program.body) {
      const own = node.type === 'FunctionDeclaration' ? node.id?.name : undefined
      for (const name of namesIn(source, node)) {
        const start = name === own ? undefined : unused.get(name)
        if (start !== undefined && unused.delete(name))
          faults.push(`${place(source, start)}: ${name} stands above its first use; put it below`)
        if (name !== own) seen.add(name)
      }
      if (own !== undefined && !seen.has(own)) unused.set(own, node.start)
    }
    return faults
  })
}

function namesIn({ program }: Source, node: ESTree.Program['body'][number]): ReadonlySet<string> {
  const names = new Set<string>()
  new Visitor({ Identifier: ({ name }) => void names.add(name) }).visit({
    ...program,
    body: [node],
  })
  return names
}

/** Casts through `unknown` say nothing that the compiler could still refute; others need a reason beside them. */
export function checkCasts(tree: Tree): string[] {
  return [...tree.values()].flatMap((source) => {
    const lines = source.text.split('\n')
    const faults: string[] = []
    new Visitor({
      TSAsExpression: (node) => {
        if (node.expression.type === 'TSAsExpression')
          faults.push(`${place(source, node.start)}: a double cast`)
        else if (!isHarmless(node) && !isExplained(source, node, lines))
          faults.push(`${place(source, node.start)}: a cast without a word why it is true`)
      },
    }).visit(source.program)
    return faults
  })
}

/** `as const` and `as unknown` claim nothing. */
function isHarmless({ typeAnnotation: type }: ESTree.TSAsExpression): boolean {
  if (type.type === 'TSUnknownKeyword') return true
  if (type.type !== 'TSTypeReference' || type.typeName.type !== 'Identifier') return false
  return type.typeName.name === 'const'
}

/** A comment on a line of the cast, or on the one above it. */
function isExplained({ text }: Source, { start, end }: ESTree.Node, lines: string[]): boolean {
  const from = lineAt(text, start)
  const to = lineAt(text, end)
  return lines
    .slice(Math.max(0, from - 2), to)
    .some((line) => /(?:^|\s)\/\/ |\*\/|^\s*\*/.test(line))
}

function place({ path, text }: Source, offset: number): string {
  return `${path}:${lineAt(text, offset)}`
}
