/** How members, signatures, types and sentences are written. */

/** A signature on one line, its types linked. */
export function signatureOf(context, signature) {
  const generic = (signature.typeParameters ?? []).map(({ name }) => `\`${name}\``).join(', ')
  const name = `**${signature.name}**${generic && `\\<${generic}\\>`}`
  return `${name}(${parameters(context, signature)}): ${typeText(context, signature.type)}`
}

/** All members of a class or interface in one table, but those that it has from another type of the reference. */
export function membersTable(context, model) {
  const rows = [
    ...(model.indexSignatures ?? []).map((one) => [
      'any key',
      typeText(context, one.type),
      sentences(context, one.comment),
    ]),
    ...(model.signatures ?? []).map((one) => ['itself', functionText(context, one), '']),
    ...membersOf(model).map((member) => memberRow(context, member)),
  ]
  return rows.length > 0 ? table(['member', 'type', ''], rows) : ''
}

/** A type on one line, linked. */
export function typeText(context, type) {
  return context.partials.someType(type, { forceCollapse: true }).replace(/\s*\n\s*/g, ' ')
}

/** The words of a comment, and what is thrown. */
export function sentences(context, comment) {
  if (!comment) return ''
  const thrown = comment.blockTags
    .filter(({ tag }) => tag === '@throws')
    .map(({ content }) => `Throws ${context.helpers.getCommentParts(content)}`)
  const left = comment.blockTags
    .filter(({ tag }) => tag === '@deprecated')
    .map(({ content }) => `Deprecated: ${context.helpers.getCommentParts(content)}`)
  return [context.helpers.getCommentParts(comment.summary), ...left, ...thrown].join('\n\n').trim()
}

/** A table of Markdown. */
export function table(heads, rows) {
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`
  return [line(heads), `|${heads.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}

function cell(text) {
  return text.replace(/\s*\n\s*/g, ' ').replace(/(?<!\\)\|/g, '\\|')
}

/** Its own members, what makes it first. What it has from elsewhere is written there; an error's name says nothing. */
function membersOf({ children = [], extendedTypes = [] }) {
  const isError = extendedTypes.some(({ name }) => name?.endsWith('Error'))
  const own = children
    .filter(({ inheritedFrom }) => !inheritedFrom?.reflection)
    .filter(({ name }) => !(isError && name === 'name'))
  const makes = ({ name }) => name === 'constructor'
  return [...own.filter(makes), ...own.filter((one) => !makes(one))]
}

function memberRow(context, member) {
  const { name, flags, signatures, getSignature } = member
  const shown = `${flags.isStatic ? 'static ' : ''}${name}${flags.isOptional ? '?' : ''}`
  const documented = [member, getSignature, ...(signatures ?? [])].find((one) => one?.comment)
  const words = sentences(context, documented?.comment)
  if (!signatures)
    return [`\`${shown}\``, typeText(context, getSignature?.type ?? member.type), words]
  const types = [...new Set(signatures.map((one) => functionText(context, one)))]
  return [name === 'constructor' ? '`new`' : `\`${shown}()\``, types.join('<br>'), words]
}

function functionText(context, signature) {
  return `(${parameters(context, signature)}) => ${typeText(context, signature.type)}`
}

function parameters(context, { parameters: given = [] }) {
  return given
    .map(({ name, flags, defaultValue, type }) => {
      const shown = name === '__namedParameters' ? 'options' : name
      const isOptional = flags.isOptional || defaultValue !== undefined
      return `${flags.isRest ? '...' : ''}\`${shown}${isOptional ? '?' : ''}\`: ${typeText(context, type)}`
    })
    .join(', ')
}
