/**
 * How a2a-python reads what a server sends, as far as its rules are stricter than the specification. Written from the
 * source of its 0.3 clients, of 1.x with its client for 0.3, and of its senders and receivers of push notifications.
 */

/** JSON, read without a schema. */
type Wild = ReturnType<typeof JSON.parse>

/** What a2a-python raises: the class's name, and the text. */
export class PythonError extends Error {
  override readonly name: string

  constructor(name: string, message: string) {
    super(message)
    this.name = name
  }
}

/** The errors that its table knows, by their numbers. */
const byNumber: Readonly<Record<number, string>> = {
  [-32001]: 'TaskNotFoundError',
  [-32002]: 'TaskNotCancelableError',
  [-32003]: 'PushNotificationNotSupportedError',
  [-32004]: 'UnsupportedOperationError',
  [-32005]: 'ContentTypeNotSupportedError',
  [-32006]: 'InvalidAgentResponseError',
  [-32007]: 'ExtendedAgentCardNotConfiguredError',
  [-32008]: 'ExtensionSupportRequiredError',
  [-32009]: 'VersionNotSupportedError',
  [-32602]: 'InvalidParamsError',
  [-32600]: 'InvalidRequestError',
  [-32601]: 'MethodNotFoundError',
  [-32603]: 'InternalError',
  [-32700]: 'JSONParseError',
}
const names: ReadonlySet<string> = new Set(Object.values(byNumber))

/** The events of a JSON-RPC stream of 0.3: the status comes first, then the content type, then each event's envelope. */
export async function readStream03(response: Response): Promise<Wild[]> {
  mustBeOk(response)
  const type = response.headers.get('content-type') ?? ''
  if (!type.includes('text/event-stream'))
    throw new PythonError('A2AClientHTTPError', `Invalid SSE response: ${type}`)
  const events: Wild[] = []
  for (const [, data] of (await response.text()).matchAll(/^data: (.*)$/gm)) {
    const { error, result } = JSON.parse(data ?? '')
    if (error) throw new PythonError(byNumber[error.code] ?? 'A2AClientError', error.message)
    events.push(result)
  }
  return events
}

/** The body of any answer over HTTP+JSON: an empty one is no JSON. */
export async function readRest(response: Response): Promise<Wild> {
  if (!response.ok) throw await restError(response)
  try {
    return await response.json()
  } catch (cause) {
    throw new PythonError('A2AClientJSONError', String(cause))
  }
}

/** 1.x tells an error of 0.3 over HTTP+JSON by `type` alone, and a 404 without one as an unknown method. */
async function restError(response: Response): Promise<PythonError> {
  const body: Wild = await response.json().catch(() => ({}))
  const message = String(body.message ?? response.statusText)
  if (typeof body.type === 'string' && names.has(body.type))
    return new PythonError(body.type, message)
  if (response.status === 404) return new PythonError('MethodNotFoundError', 'Resource not found')
  return new PythonError('A2AClientError', `HTTP Error ${response.status}`)
}

function mustBeOk({ ok, status }: Response): void {
  if (!ok) throw new PythonError('A2AClientHTTPError', `HTTP Error ${status}`)
}

const states03: ReadonlySet<string> = new Set([
  'submitted',
  'working',
  'input-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
  'auth-required',
  'unknown',
])

/** A push notification of 0.3: the task itself, as its model of a task demands it. */
export function readNotification03(body: string): Wild {
  const task: Wild = JSON.parse(body)
  for (const field of ['id', 'contextId'])
    if (typeof task[field] !== 'string')
      throw new PythonError('ValidationError', `${field}: Field required`)
  if (!states03.has(task.status?.state))
    throw new PythonError('ValidationError', 'status.state: not a state of 0.3')
  if ((task.kind ?? 'task') !== 'task') throw new PythonError('ValidationError', 'kind: not "task"')
  return task
}
