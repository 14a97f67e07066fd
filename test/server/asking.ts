import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http'

/** What was answered, header names in lower case. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
  /** The body as JSON: a test reads what it expects to be there, and what is not there fails its assertion. */
  readonly json: ReturnType<typeof JSON.parse>
}

/** A request as it stands: `fetch` would choose Host, Origin and content type itself. */
export interface Question {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string
}

/** Asks with exactly these headers. */
export function ask(url: string, question: Question = {}): Promise<Answer> {
  const { method = question.body === undefined ? 'GET' : 'POST', headers = {}, body } = question
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method, headers }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const isJson = incoming.headers['content-type']?.includes('json') && text !== ''
        const json = isJson ? JSON.parse(text) : undefined
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
