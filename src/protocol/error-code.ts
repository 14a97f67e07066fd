/** What went wrong: the `code` of an `A2AError`. The set is closed; the errors guide says what to do about each. */
export type ErrorCode =
  /** There is no such task, or it belongs to somebody else. */
  | 'taskNotFound'
  /** The task has ended, so it cannot be canceled. */
  | 'taskNotCancelable'
  /** The agent has no webhooks. */
  | 'pushNotificationNotSupported'
  /** The agent does not offer this, or not for a task in this state. */
  | 'unsupportedOperation'
  /** The agent does not take this media type, or cannot answer in one that the client accepts. */
  | 'contentTypeNotSupported'
  /** The agent, or a server that was called, answered with something the protocol does not allow. */
  | 'invalidAgentResponse'
  /** The server has no extended card. */
  | 'extendedAgentCardNotConfigured'
  /** The agent requires an extension that the request does not activate. */
  | 'extensionSupportRequired'
  /** The server does not speak this version of the protocol. */
  | 'versionNotSupported'
  /** The body is not JSON. */
  | 'parseError'
  /** The request cannot be carried out as it stands: no JSON-RPC request, or a change that the task does not allow. */
  | 'invalidRequest'
  /** There is no such method or path. */
  | 'methodNotFound'
  /** A field of the request is wrong; `details.violations` names it. */
  | 'invalidParams'
  /** The message is malformed: no parts, an unknown role, a part of two kinds. */
  | 'invalidMessage'
  /** The agent could not process the message. */
  | 'processingError'
  /** A remote agent or model cannot be reached, or refuses for now. */
  | 'agentUnavailable'
  /** The task ended in failure. */
  | 'taskFailed'
  /** The task was canceled. */
  | 'taskCanceled'
  /** The request has no credential, or one that nobody knows. */
  | 'unauthenticated'
  /** The credential does not allow this. */
  | 'forbidden'
  /** The client sent its body too slowly. */
  | 'requestTimeout'
  /** The body is larger than the server takes. */
  | 'payloadTooLarge'
  /** Too many requests; `details.retryAfterSeconds` says when to try again. */
  | 'rateLimited'
  /** The server cannot do this now: it is shutting down, full, or its store is out of reach. */
  | 'unavailable'
  /** The answer did not come in time. */
  | 'timeout'
  /** A bug: the cause is in the log and never reaches a peer. */
  | 'internal'
