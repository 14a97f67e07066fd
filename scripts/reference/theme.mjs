/**
 * How docs/api looks. Each page has what can be imported from one entrance: functions with their signatures, classes and
 * interfaces as one table of members, other types as they are written, and at its end what is known under other names.
 */
import { MarkdownTheme, MarkdownThemeContext } from 'typedoc-plugin-markdown'
import { membersTable, sentences, signatureOf, table, typeText } from './members.mjs'
import {
  isContainer,
  isEntrance,
  nameOfPage,
  otherNames,
  sectionsOf,
  slugsOf,
  typesPage,
} from './sections.mjs'

/** What each page shows first: regions of examples that are tested, and the guides that tell more. */
const openings = {
  corral: { examples: ['examples/vocabulary.ts#vocabulary'], guides: ['errors'] },
  'corral/server': {
    examples: ['examples/quickstart/serve.ts#serve'],
    guides: ['serving', 'webhooks', 'deploy'],
  },
  'corral/client': {
    examples: ['examples/quickstart/serve.ts#call'],
    guides: ['remote-agents', 'webhooks'],
  },
  'corral/agents': {
    examples: ['examples/durable/serve.ts#agent', 'examples/tools/desk.ts#tool'],
    guides: ['agents', 'models-and-tools', 'guards', 'memory'],
  },
  'corral/team': {
    examples: ['examples/ten-lines.ts#team'],
    guides: ['first-team', 'workflows', 'supervisors-and-routers', 'people-in-the-loop'],
  },
  'corral/store': {
    examples: ['examples/durable/serve.ts#store'],
    guides: ['stores', 'replicas'],
  },
  'corral/store/custom': { examples: [], guides: ['stores'] },
  'corral/eval': { examples: ['examples/eval/evaluate.ts#run'], guides: ['evaluate'] },
  'corral/testing': { examples: ['examples/guides/testing/team.test.mjs'], guides: ['testing'] },
  'corral/compat': { examples: ['examples/seeds/002.mts#handler'], guides: ['migrate'] },
  'corral/console': { examples: ['examples/guides/console/console.mjs'], guides: ['console'] },
  [typesPage]: { examples: [], guides: [] },
}

/** Called by typedoc. */
export function load(app) {
  app.renderer.defineTheme('reference', ReferenceTheme)
}

class ReferenceTheme extends MarkdownTheme {
  getRenderContext(page) {
    return new ReferenceContext(this, page, this.application.options)
  }
}

class ReferenceContext extends MarkdownThemeContext {
  constructor(theme, page, options) {
    super(theme, page, options)
    this.templates.reflection = ({ model }) =>
      model.isProject() ? indexPage(this, model) : entrancePage(this, model)
    this.partials.referenceType = (type) => referenceText(this, type)
  }
}

/** The list of entrances. */
function indexPage(context, { children }) {
  const entrances = children.filter(({ name }) => name !== typesPage)
  const rows = entrances.map((module) => [
    `[\`${module.name}\`](${nameOfPage(module)})`,
    context.helpers.getCommentParts(module.comment.summary),
  ])
  return paragraphs([
    '# API reference',
    'Everything that can be imported, made from the comments in the code by `npm run reference`. Numbers such as §4.1.1 are ' +
      'sections of the [A2A 1.0 specification](https://a2a-protocol.org/latest/specification/).',
    table(['import from', 'to'], rows),
    `Types that appear in these declarations and that you need not import are on [a page of their own](${typesPage}.md).`,
  ])
}

function entrancePage(context, module) {
  const sections = [...sectionsOf(module)]
  const { examples, guides } = openings[module.name]
  return paragraphs([
    `# ${module.name}`,
    context.helpers.getCommentParts(module.comment.summary),
    ...examples.map(snippet),
    guides.length > 0 &&
      `Guides: ${guides.map((guide) => `[${guide.replaceAll('-', ' ')}](../guides/${guide}.md)`).join(' · ')}`,
    ...sections.map(([title, names]) => contents(module, title, [...names.keys()])),
    ...sections.flatMap(([title, names]) => [
      `## ${title}`,
      ...(title === otherNames
        ? [namesTable(context, names)]
        : [...names].map(([name, meanings]) => entry(context, name, meanings))),
    ]),
  ])
}

/** Filled by `npm run snippets`. */
function snippet(place) {
  const language = place.endsWith('.mjs') ? 'js' : 'ts'
  return `<!-- snippet: ${place} -->\n\`\`\`${language}\n\`\`\``
}

/** The names of a section, to jump to. */
function contents(module, title, names) {
  if (title === otherNames) return ''
  const slugs = slugsOf(module)
  return `**${title}**: ${names.map((name) => `[${name}](#${slugs.get(name)})`).join(' · ')}`
}

function entry(context, name, meanings) {
  return paragraphs([`### ${name}`, ...meanings.map((one) => described(context, one))])
}

/** One thing that a name means. */
function described(context, model) {
  const words = sentences(context, model.comment)
  if (isContainer(model))
    return paragraphs([words, heritage(context, model), membersTable(context, model)])
  if (model.signatures)
    return paragraphs(
      model.signatures.flatMap((one) => [
        `> ${signatureOf(context, one)}`,
        sentences(context, one.comment),
      ]),
    )
  const choices = alternatives(context, model.type)
  const type = choices === '' && `> **${model.name}**: ${typeText(context, model.type)}`
  return paragraphs([type, words, choices])
}

function heritage(context, { extendedTypes = [], implementedTypes = [] }) {
  const listed = (types) => types.map((type) => context.partials.someType(type)).join(', ')
  return [
    extendedTypes.length > 0 && `Extends ${listed(extendedTypes)}.`,
    implementedTypes.length > 0 && `Implements ${listed(implementedTypes)}.`,
  ]
    .filter(Boolean)
    .join(' ')
}

/** The members of a union with their sentences, where they have some. */
function alternatives(context, type) {
  if (type?.type !== 'union' || !type.elementSummaries?.some((one) => one.length > 0)) return ''
  const rows = type.types.map((one, at) => [
    typeText(context, one),
    context.helpers.getCommentParts(type.elementSummaries[at] ?? []),
  ])
  return table(['one of', ''], rows)
}

/** What this entrance has from others, or under a second name. */
function namesTable(context, names) {
  const rows = [...names].map(([name, [reference]]) => {
    const target = reference.getTargetReflectionDeep()
    const from = target.parent === context.page.model ? '' : ` of ${target.parent.name}`
    return [`\`${name}\``, linkTo(context, target, `${target.name}${from}`)]
  })
  return table(['name', 'is'], rows)
}

function referenceText(context, type) {
  const target = type.reflection
  const name = isEntrance(target?.parent)
    ? linkTo(context, target, `\`${target.name}\``)
    : `\`${type.name}\``
  const given = givenArguments(context, type)
  return given.length > 0 ? `${name}\\<${given.join(', ')}\\>` : name
}

/** The texts of type arguments, without those at the end that are the defaults. */
function givenArguments(context, { typeArguments = [], reflection }) {
  const plain = (text) => text.replace(/\]\([^)]*\)|[`[\\]/g, '')
  const texts = typeArguments.map((one) => typeText(context, one))
  const usual = (reflection?.typeParameters ?? []).map((one) => typeText(context, one.default))
  const last = texts.findLastIndex((text, at) => plain(text) !== plain(usual[at] ?? ''))
  return texts.slice(0, last + 1)
}

function linkTo(context, target, text) {
  const page = target.parent === context.page.model ? '' : nameOfPage(target.parent)
  return `[${text}](${page}#${slugsOf(target.parent).get(target.name)})`
}

function paragraphs(texts) {
  return texts.filter(Boolean).join('\n\n')
}
