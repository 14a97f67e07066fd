/**
 * As much of a browser as signing in takes: cookies, redirects, and forms that are filled in and sent. It stops at the
 * first URL that `until` knows, or at a page without a form.
 */
export async function signIn(
  start: string,
  fields: Readonly<Record<string, string>>,
  until: (url: URL) => boolean = () => false,
): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = new URL(start)
  let form: URLSearchParams | undefined
  for (let steps = 0; steps < 30; steps++) {
    if (until(url)) {
      await fetch(url)
      return url
    }
    const response = await visit(url, form, cookies)
    const location = response.headers.get('location')
    const page = await response.text()
    form = undefined
    if (location) {
      url = new URL(location, url)
      continue
    }
    const found = formOf(page)
    if (!found) return url
    url = new URL(found.action, url)
    form = new URLSearchParams({ ...found.values, ...pick(fields, found.names) })
  }
  throw new Error('too many steps')
}

async function visit(
  url: URL,
  form: URLSearchParams | undefined,
  cookies: Map<string, string>,
): Promise<Response> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const response = await fetch(url, {
    redirect: 'manual',
    headers: { cookie },
    ...(form && { method: 'POST', body: form }),
  })
  for (const line of response.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === '') cookies.delete(name)
    else cookies.set(name, value)
  }
  return response
}

interface Form {
  readonly action: string
  readonly names: readonly string[]
  readonly values: Readonly<Record<string, string>>
}

function formOf(page: string): Form | undefined {
  const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1]
  if (!action) return undefined
  const inputs = [...page.matchAll(/<input[^>]*>/g)].map(([tag]) => ({
    name: /name="([^"]+)"/.exec(tag)?.[1] ?? '',
    value: /value="([^"]*)"/.exec(tag)?.[1],
  }))
  const values = inputs.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))
  return { action, names: inputs.map(({ name }) => name), values: Object.fromEntries(values) }
}

function pick(
  fields: Readonly<Record<string, string>>,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)))
}
