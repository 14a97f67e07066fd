import { type Domain, findDomain, presentName } from '../../eval/index.ts'
import { stderr } from '../screen.ts'

/** The domain that a flag or an argument names; a name that it had once is understood, with a note. */
export function chooseDomain(name: string, tau2Data?: string): Promise<Domain> {
  noteName(name)
  return findDomain(name, { directory: tau2Data })
}

/** Says on stderr what a domain is called today. */
export function noteName(name: string): void {
  const present = presentName(name)
  if (present !== name)
    stderr.write(`Note: our ${name} is called ${present}; the one of tau2-bench is tau2:${name}\n`)
}
