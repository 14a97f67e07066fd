import type { ProjectFiles } from './form.ts'
import { forms } from './forms.ts'
import { type ProjectFacts, toSurroundings } from './surroundings.ts'
import { toTomlProject } from './toml.ts'
import { toTypeScriptProject } from './typescript.ts'

/** What a project is made of. */
export interface Project {
  /** What is the project's own: none of these may be there already. */
  readonly own: ProjectFiles
  /** What stands around it: a file that is there already stays. */
  readonly around: ProjectFiles
}

/** Makes the files of a project. */
export function toProject(facts: ProjectFacts): Project {
  const form = forms[facts.kind]
  const own =
    facts.language === 'ts' ? toTypeScriptProject(form, facts) : toTomlProject(form, facts)
  return { own, around: toSurroundings(facts) }
}
