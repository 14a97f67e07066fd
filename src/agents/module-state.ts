import * as nodeModule from 'node:module'
import { readUrl } from '../shared/url.ts'

/**
 * Loads modules anew. Node keeps every module for good under its URL, so a module whose URL names a state of its files is
 * another module, and what it imports by a relative path is to have the same state in its URL: a hook sees to that.
 */
interface FreshModules {
  /** From here on, modules that are loaded by a URL with a state that is new get these files as they are now. */
  renew(files: Iterable<string>): void
  /** Ends it; what is loaded stays. May be called twice. */
  close(): void
}

/** The parameter of a module's URL that names the state of its files. */
export const stateParameter: string = 'corral-state'

/** Makes what loads modules anew; nothing is installed before something is to be renewed. */
export function createFreshModules(): FreshModules {
  let uninstall: (() => void) | undefined
  return {
    renew(files) {
      uninstall ??= install()
      const { cache } = nodeModule.createRequire(import.meta.url)
      // CommonJS and JSON are kept under the name of the file.
      for (const file of files) delete cache[file]
    },
    close() {
      uninstall?.()
      uninstall = undefined
    },
  }
}

interface Resolved {
  readonly url: string
}

/** A hook of Node's for the address of an import. */
type ResolveHook = <Context extends { readonly parentURL?: string | undefined }>(
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => Resolved,
) => Resolved

/** What newer versions of Node have; hooks of the older kind run in a thread and are a module. */
type RegisterHooks = (hooks: { readonly resolve: ResolveHook }) => { deregister(): void }

function install(): () => void {
  const registerHooks: RegisterHooks | undefined = Reflect.get(nodeModule, 'registerHooks')
  if (registerHooks) {
    const hooks = registerHooks({ resolve })
    return () => hooks.deregister()
  }
  nodeModule.register(`data:text/javascript,${encodeURIComponent(threadHook)}`)
  return () => {} // the older kind stays, and does nothing to modules without a state
}

const resolve: ResolveHook = (specifier, context, next) => {
  const found = next(specifier, context)
  const state = stateOf(context.parentURL)
  if (state === null || !specifier.startsWith('.')) return found
  const url = new URL(found.url)
  url.searchParams.set(stateParameter, state)
  return { ...found, url: url.href }
}

function stateOf(url: string | undefined): string | null {
  return readUrl(url ?? '')?.searchParams.get(stateParameter) ?? null
}

/** The same as a text, since the thread of the older hooks has nothing of ours. */
const threadHook = `function stateOf(url) {
  try {
    return new URL(url).searchParams.get('${stateParameter}')
  } catch {
    return null
  }
}
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context)
  const state = stateOf(context.parentURL)
  if (state === null || !specifier.startsWith('.')) return found
  const url = new URL(found.url)
  url.searchParams.set('${stateParameter}', state)
  return { ...found, url: url.href }
}`
