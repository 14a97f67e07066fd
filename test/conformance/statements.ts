/**
 * What the A2A specification asks of servers and clients, one statement a line, in our words. `level` is the
 * specification's word, `fact` where it states something without one; `section` is 1.0's unless it begins with 0.3.
 */
export interface Statement {
  readonly id: string
  readonly level: string
  readonly who: string
  readonly words: string
  readonly section: string
}

/** Statements about gRPC alone, a binding that is not served. */
export const grpcOnly: ReadonlySet<string> = new Set(['I006', 'J007'])

/** Columns: id, level, who it binds, what it says, where. */
const table = `
A001 | must | server | An agent card is available | 8.1
A002 | must | server | GET /.well-known/agent-card.json returns an AgentCard | 14.3
A003 | must | server | Card has name, description, version, capabilities, skills, supportedInterfaces, defaultInputModes, defaultOutputModes | 4.4.1
A004 | must | server | Each interface has url, protocolBinding, protocolVersion and describes what really answers there | 8.3.1
A005 | must | server | All supported bindings are declared | 5.2
A006 | should | server | Interfaces are listed in preference order | 8.3.1
A007 | should | server | Card response has Cache-Control with max-age | 8.6.1
A008 | should | server | Card response has ETag; If-None-Match gives 304 | 8.6.1
A009 | should | client | Client honours caching and revalidates conditionally | 8.6.2
A010 | should | server | Card holds no credentials or internal details | 14.3
A011 | must | client | Client takes the first interface it supports, in order | 8.3.2
A012 | must | client | Client uses the url of the chosen interface | 8.3.2
A013 | must | client | Client sends exactly the interface's tenant, or none | 8.3.2
A014 | should | client | Client falls back to another binding on failure | 5.2
A015 | should | client | Client checks capabilities before optional operations | 3.3.4
A016 | should | server | Patch versions do not appear in cards or headers | 3.6
A017 | must | both | Signed payload is JCS of the card without signatures | 8.4.1
A018 | must | both | Canonical form keeps required and explicitly set optional fields, drops other defaults | 8.4.1
A019 | must | server | Protected header has alg, kid (typ JOSE S) | 8.4.2
A020 | must | client | Verification rebuilds the canonical payload and uses a non-revoked key | 8.4.3
A021 | should | client | At least one signature verified before trusting a signed card | 8.4.3
B001 | must | client | A2A-Version sent on every request | 3.6.1
B002 | must | server | Empty/absent version handled as 0.3 | 3.6.2
B003 | must | server | Unsupported version → VersionNotSupportedError in every binding | 3.6.2
B004 | must | server | Semantics follow the requested Major.Minor | 3.6.2
B005 | must | both | Patch part ignored in negotiation (1.0.7 = 1.0) | 3.6
B006 | must | server | Version and extensions read from headers (case-insensitive) / gRPC metadata | 9.2, 10.2, 11.2
B007 | must | both | SDK offers version and binding negotiation | 3.6.3
B008 | should | client | Several extension URIs in one comma-separated header | 9.2
B009 | must | server | Missing required extension → ExtensionSupportRequiredError | 3.3.4
B010 | should | server | Unknown or unsupported extension URI ignored | 4.6.3
B011 | must | server | No automatic fallback to another extension version | 4.6.3
B012 | should | server | Activated extensions echoed in response header | ext. guide
C001 | must | both | JSON names camelCase | 5.5
C002 | must | both | Enum values are proto names as strings | 5.5
C003 | must | both | Timestamps ISO 8601 UTC with Z only | 5.6.1
C004 | should | both | Millisecond precision | 5.6.1
C005 | must | both | Required fields present, required arrays non-empty | 5.7
C006 | should | server | Missing required field rejected | 5.7
C007 | should | both | Unknown fields ignored | 5.7
C008 | must | server | Task has id and status | 4.1.1
C009 | must | server | TaskState is a defined value | 4.1.3
C010 | must | both | Message has messageId, role, ≥ 1 part | 4.1.4
C011 | must | both | Role is ROLE_USER or ROLE_AGENT | 4.1.5
C012 | must | both | Part has exactly one of text, raw, url, data | 4.1.6
C013 | must | server | Artifact has artifactId (unique in task) and ≥ 1 part | 4.1.7
C014 | fact | server | Status/artifact events carry taskId and contextId | 4.2
C015 | fact | server | No kind and no final in 1.0 output | A.2.1
D001 | must | server | SendMessage returns {task} or {message} | 3.1.1
D002 | must | server | Message to a terminal task → UnsupportedOperationError | 3.1.1
D003 | must | server | Unsupported part media type → ContentTypeNotSupportedError | 3.1.1
D004 | must | server | Unknown/foreign taskId → TaskNotFoundError | 3.4.2
D005 | must | server | New task gets a unique server id, returned to the client | 3.4.2
D006 | must | server | Generated contextId is in the response | 3.4.1
D007 | must | server | Unacceptable client contextId → error, not replaced | 3.4.1
D008 | must | server | contextId inferred from taskId | 3.4.3
D009 | must | server | Mismatching contextId/taskId rejected | 3.4.3
D010 | should | client | Client does not invent contextIds; treats server ones as opaque | 3.4.1
D011 | should | client | Related tasks referenced by referenceTaskIds | 3.4.3
D012 | must | server | returnImmediately false/unset waits for terminal or interrupted state | 3.2.2
D013 | must | server | Blocking answer holds latest state and all artifacts | 3.2.2
D014 | must | server | returnImmediately true answers right after task creation | 3.2.2
D015 | fact | server | returnImmediately does not affect streaming or push delivery | 3.2.2
D016 | must | server | Never more history messages than historyLength | 3.2.4
D017 | should | server | historyLength 0 omits history (Get and Send) | 3.2.4
D018 | should | server | History chronological, content unchanged | 3.2.4
D019 | should | server | acceptedOutputModes respected | 3.2.2
D020 | should | server | Results delivered as artifacts, not messages | 3.7
D021 | must | client | Client does not rely on messages for critical data or on history persistence | 3.7
E001 | must | server | GetTask returns the task | 3.1.3
E002 | must | server | GetTask unknown → TaskNotFoundError | 3.1.3
E003 | must | server | ListTasks returns only visible tasks, also unfiltered | 3.1.4, 13.1
E004 | must | server | Cursor paging by pageToken/nextPageToken | 3.1.4
E005 | must | server | Order: status timestamp descending | 3.1.4
E006 | must | server | nextPageToken always present, "" at the end | 3.1.4
E007 | must | server | artifacts key absent unless includeArtifacts | 3.1.4
E008 | fact | server | Default page size 50, at most 100, pageSize and totalSize present | proto
E009 | fact | server | contextId, status, statusTimestampAfter (inclusive) filters work | proto
E010 | must | server | Invalid pageSize/historyLength/status → validation error | 3.3.2, 6.5
E011 | must | server | CancelTask returns the updated task | 3.1.5
E012 | must | server | Cancel on a terminal task → TaskNotCancelableError | 3.1.5
E013 | must | server | Cancel unknown → TaskNotFoundError | 3.1.5
E014 | fact | server | Repeated cancel has no further effect | 3.3.1
F001 | must | server | SendStreamingMessage opens a stream | 3.1.2
F002 | must | server | Message stream: exactly one Message, then close | 3.1.2
F003 | must | server | Task stream begins with the Task | 3.1.2
F004 | must | server | Stream closes at a terminal state | 3.1.2
F005 | must | server | Streaming not declared → UnsupportedOperationError (send and subscribe) | 3.3.4
F006 | must | server | Streaming to a terminal task → UnsupportedOperationError | 3.1.2
F007 | must | server | Subscribe: first event is the Task snapshot | 3.1.6
F008 | must | server | Subscribe ends at a terminal state | 3.1.6
F009 | must | server | Subscribe to a terminal task → UnsupportedOperationError | 3.1.6
F010 | must | server | Subscribe unknown → TaskNotFoundError | 3.1.6
F011 | must | server | Events in generation order | 3.5.2
F012 | must | server | Events reach all open streams | 3.5.2
F013 | must | server | All streams see the same order | 3.5.2
F014 | must | server | Closing one stream leaves others and the task running | 3.5.2
F015 | must | server | JSON-RPC SSE: text/event-stream, each data a JSON-RPC response with the request id | 9.4.2
F016 | must | server | REST SSE: each data a bare StreamResponse | 11.7
F017 | should | server | AUTH_REQUIRED keeps streams open when credentials come out of band | 7.6.1
F018 | fact | client | Client accepts absent append/lastChunk as false and reassembles by artifactId | 4.2.2
G001 | must | server | Push operations without capability → PushNotificationNotSupportedError | 3.3.4
G002 | must | server | Create stores the webhook and returns the config with id | 3.1.7
G003 | must | server | Config persists until completion or deletion | 3.1.7
G004 | must | server | Get returns url and settings | 3.1.8
G005 | must | server | Get of a missing config fails | 3.1.8
G006 | must | server | List returns all configs of the task | 3.1.9
G007 | must | server | Delete removes for good, no more deliveries | 3.1.10
G008 | must | server | Delete is idempotent | 3.1.10
G009 | fact | server | Push operations on an unknown task → TaskNotFoundError | 3.1.7–10
G010 | must | server | Webhook carries Authorization from authentication | 4.3.3
G011 | must | server | At least one delivery attempt per webhook | 4.3.3
G012 | must | server | Body is a StreamResponse with exactly one member | 4.3.3
G013 | should | server | Delivery timeout 10–30 s | 4.3.3
G014 | should | server | Retry with exponential backoff | 13.2
G015 | should | server | Private, loopback, link-local targets rejected | 13.2
G016 | must | client | Receiver answers 2xx and validates credentials | 4.3.3, 13.2
G017 | must | client | Receiver checks the task id is expected | 4.3.3
G018 | should | client | Receiver is idempotent and rate-limited | 4.3.3, 13.2
G019 | should | both | Webhook URLs are HTTPS; tokens unique and secret | 13.2
H001 | must | server | Extended card without capability → UnsupportedOperationError | 3.3.4
H002 | must | server | Declared but not configured → ExtendedAgentCardNotConfiguredError | 3.3.4
H003 | must | server | Extended card requires authentication | 13.3
H004 | should | client | Client replaces its cached card for the session | 3.1.11
I001 | must | server | Error has code, message, optional details array with @type | 3.3.2
I002 | must | server | JSON-RPC codes of the error table | 5.4
I003 | should | server | JSON-RPC data holds ErrorInfo | 9.5
I004 | must | server | HTTP status of the error table | 5.4
I005 | must | server | REST error body is {error:{code,status,message,details}} with ErrorInfo, domain a2a-protocol.org | 11.6
I006 | must | server | gRPC status and ErrorInfo detail | 10.6
I007 | must | server | Unparsable JSON −32700, bad envelope −32600, unknown method −32601, bad params −32602 | 9.5
I008 | must | server | All input validated before processing | 3.3.2
I009 | should | server | Validation errors name field and reason (BadRequest) | 3.3.2
I010 | must | client | Client maps every code/reason to a typed error | 0.3:11.2.2
J001 | must | both | JSON-RPC 2.0 envelope, same id in the reply | 9.3
J002 | must | server | JSON-RPC Content-Type: application/json | 9.1
J003 | fact | server | All eleven PascalCase methods | 9.1
J004 | must | server | REST paths and verbs of the operations table, incl. tenant prefix | 11.3
J005 | should | server | REST uses application/a2a+json | 11.1
J006 | must | both | Query parameters camelCase, URL-encoded; booleans true/false; enums by name | 11.5
J007 | must | server | gRPC serves lf.a2a.v1.A2AService over TLS | 10.1
J008 | must | server | All bindings: same operations, equivalent results, errors and auth | 5.1
K001 | must | server | Every request authenticated per card | 7.4
K002 | must | server | Invalid/missing credentials rejected | 3.3.2
K003 | should | server | Challenge and required scheme in the refusal | 7.4
K004 | must | server | Authorisation checked on every operation, before lookups that leak | 13.1
K005 | must | server | Results limited to the caller's scope | 13.1
K006 | must | server | Foreign resources indistinguishable from absent ones | 3.3.2
K007 | must | server | In-task authorisation: Task, AUTH_REQUIRED, explaining message | 7.6.1
K008 | should | server | Messages accepted while AUTH_REQUIRED | 7.6.1
K009 | must | server | AUTH_REQUIRED itself grants nothing; credentials not reused for later messages by default | 7.6.4
K010 | should | client | On AUTH_REQUIRED without a stream: subscribe, register webhook or poll | 7.6.2
K011 | must | both | Production uses TLS; client validates certificates (S) | 7.1, 7.2
K012 | must | server | Part.url and webhook URLs checked against SSRF | 14.1.1, 13.2
K013 | should | server | Size, complexity and rate limits with proper errors | 13.4
K014 | must | server | Logs free of credentials and personal data | 13.4
L001 | must | server | 0.3: message/send, tasks/get, tasks/cancel work | 0.3:11.1.2
L002 | must | server | 0.3: results carry kind; events carry final | 0.3:6, 7.2
L003 | must | server | 0.3: Content-Type: application/json; SSE data = JSON-RPC response | 0.3:3.2.1, 3.3.1
L004 | must | server | 0.3 card: url serves preferredTransport; no conflicting declarations | 0.3:5.6
L005 | fact | server | 0.3: stream ends after final:true | 0.3:9.3
L006 | must | server | 0.3: message to a terminal task is an error; streaming methods need the capability | 0.3:7.1, 7.2
L007 | must | client | 0.3: client can send, get, pick a transport and handle −32001…−32007 | 0.3:11.2
L008 | fact | client | 0.3: card without preferredTransport means JSONRPC | 0.3 types
`

/** All statements, in the order of their ids. */
export const statements: readonly Statement[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [id = '', level = '', who = '', words = '', section = ''] = line.split(' | ')
    return { id, level, who, words, section }
  })
