import { asRaw, type Raw } from './raw.ts'

/**
 * What real peers write that no specification has. Each quirk takes what the peer wrote and gives what it means, or
 * hands it on where the quirk is not there. One row, one test (`quirks.test.ts`).
 */
export const quirks = {
  /** RANCH's README shows a task as `{ task_id, status: "queued" }`. */
  flatStatus: (status: unknown): unknown =>
    typeof status === 'string' ? { state: status } : status,

  /** RANCH tells why in a status' `reason`, where A2A has the status message. */
  reasonForMessage: (reason: unknown): unknown =>
    reason === undefined || reason === null
      ? undefined
      : { messageId: 'reason', role: 'ROLE_AGENT', parts: [{ text: reason }] },

  /** RANCH gives a finished task's answer as its `result`, a message; it becomes the artifact `response`. */
  resultForArtifact: (result: unknown): unknown => {
    if (result === undefined || result === null) return undefined
    const message = asRaw(result)
    return [message ? { artifactId: 'response', parts: message.parts } : result]
  },

  /** Python and 0.3's examples write moments without a zone, or with one without a colon: `+0000`. */
  unzonedTime: (timestamp: unknown): unknown => {
    if (typeof timestamp !== 'string') return timestamp
    const zoned = /(?:Z|[+-]\d\d:?\d\d)$/i.test(timestamp) ? timestamp : `${timestamp}Z`
    const ms = Date.parse(zoned)
    return Number.isNaN(ms) ? timestamp : new Date(ms).toISOString()
  },

  /** Protocol buffers write a role that nobody set by this name; only agents answer. */
  unsetRole: (role: unknown): unknown => (role === 'ROLE_UNSPECIFIED' || role === 0 ? null : role),

  /** Servers of 0.3 answer with a bare list of webhooks, those in Go with null where it is empty. */
  bareList: (configs: unknown): unknown =>
    Array.isArray(configs) ? { configs } : (configs ?? { configs: [] }),

  /** Some servers do not count their tasks: a page is then as large as it is. */
  uncounted: (page: Raw): Raw => {
    const size = Array.isArray(page.tasks) ? page.tasks.length : undefined
    return { ...page, pageSize: page.pageSize ?? size, totalSize: page.totalSize ?? size }
  },

  /** Protocol buffers write the authentication that a webhook does not have as an empty one. */
  emptyAuthentication: (config: Raw): Raw => {
    const authentication = asRaw(config.authentication)
    const { scheme = '', credentials = '' } = authentication ?? {}
    return authentication && scheme === '' && credentials === ''
      ? { ...config, authentication: undefined }
      : config
  },

  /** A card's list of interfaces may have holes. */
  nullOffers: (offers: unknown): unknown =>
    Array.isArray(offers) ? offers.filter((offer) => offer !== null) : offers,

  /** Cards of RANCH's kin call the provider's organization its name. */
  namedProvider: (provider: Raw): Raw => {
    const { name, ...rest } = provider
    return { ...rest, organization: rest.organization ?? name }
  },

  /** Some cards list the names of security schemes, of which any one is enough. */
  namedRequirement: (requirement: unknown): unknown =>
    typeof requirement === 'string' ? { schemes: { [requirement]: { list: [] } } } : requirement,
} as const
