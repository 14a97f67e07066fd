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
} from './sections.mjs'

/** What each page shows first: regions of examples that are tested. */
const examples = {
  corral: ['examples/vocabulary.ts#vocabulary'],
  'corral/server': ['examples/quickstart/serve.ts#serve'],
  'corral/client': ['examples/quickstart/serve.ts#call'],
  'corral/agents': ['examples/durable/serve.ts#agent', 'examples/tools/desk.ts#tool'],
  'corral/team': ['examples/ten-lines.ts#team'],
  'corral/store': ['examples/durable/serve.ts#store'],
  'corral/eval': ['examples/eval/evaluate.ts#run'],
  'corral/testing': ['examples/guides/testing/team.test.mjs'],
  'corral/compat': ['examples/seeds/002.ts#handler'],
  'corral/console': ['examples/guides/console/console.mjs'],
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
  const rows = children.map((module) => [
    `[\`${module.name}\`](${nameOfPage(module)})`,
    context.helpers.getCommentParts(module.comment.summary),
  ])
  return paragraphs([
    '# API reference',
    'Everything that can be imported, made from the comments in the code by `npm run reference`. Numbers such as §4.1.1 are ' +
      'sections of the [A2A 1.0 specification](https://a2a-protocol.org/latest/specification/).',
    table(['import from', 'to'], rows),
  ])
}

function entrancePage(context, module) {
  const sections = [...sectionsOf(module)]
  return paragraphs([
    `# ${module.name}`,
    context.helpers.getCommentParts(module.comment.summary),
    ...examples[module.name].map((region) => `<!-- snippet: ${region} -->\n\`\`\`ts\n\`\`\``),
    ...sections.map(([title, names]) => contents(module, title, [...names.keys()])),
    ...sections.flatMap(([title, names]) => [
      `## ${title}`,
      ...(title === otherNames
        ? [namesTable(context, names)]
        : [...names].map(([name, meanings]) => entry(context, name, meanings))),
    ]),
  ])
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
  const given = type.typeArguments?.map((one) => typeText(context, one)) ?? []
  return given.length > 0 ? `${name}\\<${given.join(', ')}\\>` : name
}

function linkTo(context, target, text) {
  const page = target.parent === context.page.model ? '' : nameOfPage(target.parent)
  return `[${text}](${page}#${slugsOf(target.parent).get(target.name)})`
}

function paragraphs(texts) {
  return texts.filter(Boolean).join('\n\n')
}
