import { toMajorMinor } from './card.ts'
import type { FieldViolation } from './errors.ts'
import type { AgentCard, AgentInterface, AgentSkill } from './types.ts'

/**
 * Lists what is wrong with a card: required fields that are empty, versions with a patch level, skills with the same
 * id, requirements without their scheme. An empty list is a good card.
 */
export function checkCard(card: AgentCard): readonly FieldViolation[] {
  return [
    ...emptyFields('', card, ['name', 'description', 'version']),
    ...emptyFields('', card, ['supportedInterfaces', 'defaultInputModes', 'defaultOutputModes']),
    ...emptyFields('', card, ['skills']),
    ...card.supportedInterfaces.flatMap((choice, i) =>
      checkInterface(`supportedInterfaces[${i}].`, choice),
    ),
    ...card.skills.flatMap((skill, i) => checkSkill(`skills[${i}].`, skill)),
    ...repeatedSkills(card.skills),
    ...unknownSchemes(card),
  ]
}

function emptyFields<T extends object>(
  path: string,
  value: T,
  names: readonly (keyof T & string)[],
): FieldViolation[] {
  return names
    .filter((name) => {
      const field = value[name]
      return (typeof field === 'string' || Array.isArray(field)) && field.length === 0
    })
    .map((name) => ({ field: path + name, description: 'must not be empty' }))
}

function checkInterface(path: string, choice: AgentInterface): FieldViolation[] {
  const faults = emptyFields(path, choice, ['url', 'protocolBinding', 'protocolVersion'])
  // A gRPC address is host:port; the others are URLs.
  if (choice.protocolBinding !== 'GRPC' && choice.url !== '' && !/^https?:\/\//i.test(choice.url))
    faults.push({ field: `${path}url`, description: 'must be an absolute http or https URL' })
  if (toMajorMinor(choice.protocolVersion) !== choice.protocolVersion)
    faults.push({ field: `${path}protocolVersion`, description: 'must be Major.Minor' })
  return faults
}

function checkSkill(path: string, skill: AgentSkill): FieldViolation[] {
  return emptyFields(path, skill, ['id', 'name', 'description', 'tags'])
}

function repeatedSkills(skills: readonly AgentSkill[]): FieldViolation[] {
  const ids = skills.map((skill) => skill.id)
  return ids.flatMap((id, i) =>
    ids.indexOf(id) < i ? [{ field: `skills[${i}].id`, description: `${id} is taken` }] : [],
  )
}

function unknownSchemes(card: AgentCard): FieldViolation[] {
  const known = new Set(Object.keys(card.securitySchemes ?? {}))
  const named = (card.securityRequirements ?? []).flatMap(({ schemes }) => Object.keys(schemes))
  return [...new Set(named)]
    .filter((name) => !known.has(name))
    .map((name) => ({ field: 'securityRequirements', description: `${name} is not declared` }))
}
