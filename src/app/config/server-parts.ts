import { z } from 'zod'
import { createAllowList } from '../../network/allow-list.ts'
import { serverDefaults } from './defaults.ts'
import { described } from './described.ts'
import { filledText, whenGiven } from './values.ts'

/** `[server.console]`: the page in which people see the server at work. */
export interface ConsoleConfig {
  /** Whether there is one; true if absent. */
  readonly enabled?: boolean
  /** Hosts and ranges inside your network whose agents it may ask. */
  readonly allow?: readonly string[]
}

/** `[server.retention]`: which tasks are kept; all where nothing is said. */
export interface RetentionConfig {
  /** How long finished tasks are kept. */
  readonly maxAgeDays?: number
  /** Finished tasks to keep, the newest. */
  readonly maxTasks?: number
  /** How large the store's file may become; the oldest finished tasks go before it does. */
  readonly maxBytes?: number
  /** How long a task may wait for its user before it is dropped like a finished one. */
  readonly waitingDays?: number
}

/** `[server.webhooks]`: where push notifications may go. */
export interface WebhooksConfig {
  /** Whether webhooks are sent; true if absent. */
  readonly enabled?: boolean
  /** Whether `http:` URLs are allowed; false if absent. */
  readonly allowHttp?: boolean
  /** Hosts and ranges inside your network that may be reached all the same. */
  readonly allow?: readonly string[]
}

const count = z.int().min(1).optional()
const days = z.number().positive().optional()

/** The whole `[server.retention]` table. */
export const retentionSchema: z.ZodType<RetentionConfig> = z
  .strictObject({
    max_age_days: described(days, {
      description: 'How long finished tasks are kept, in days; for ever if absent.',
      examples: [90],
    }),
    max_tasks: described(count, {
      description:
        'How many finished tasks are kept, the newest; all if absent, or 10,000 in memory.',
      examples: [100_000],
    }),
    max_bytes: described(count, {
      description:
        "How large the store's file may become, in bytes: at nine tenths of it the oldest finished tasks go, at all of it writes fail. For a SQLite file alone.",
      examples: [2_000_000_000],
    }),
    waiting_days: described(days, {
      description:
        'How long a task may wait for its user, in days; then it goes like a finished one. For ever if absent.',
      examples: [30],
    }),
  })
  .transform((retention) => ({
    ...whenGiven('maxAgeDays', retention.max_age_days),
    ...whenGiven('maxTasks', retention.max_tasks),
    ...whenGiven('maxBytes', retention.max_bytes),
    ...whenGiven('waitingDays', retention.waiting_days),
  }))

/** The whole `[server.webhooks]` table. */
export const webhooksSchema: z.ZodType<WebhooksConfig> = z
  .strictObject({
    enabled: described(z.boolean().optional(), {
      description: 'Whether callers may register webhooks; cards say so.',
      default: serverDefaults.hasWebhooks,
      examples: [false],
    }),
    allow_http: described(z.boolean().optional(), {
      description: 'Whether webhooks may be `http` URLs, not only `https`.',
      default: false,
      examples: [true],
    }),
    allow: described(z.array(filledText).optional(), {
      description:
        'Hosts and ranges inside your networks that webhooks may reach, or `*` for everything; only public addresses if absent.',
      examples: [['hooks.internal', '10.0.0.7:8080', '10.1.0.0/16']],
    }),
  })
  .transform((webhooks) => ({
    ...whenGiven('enabled', webhooks.enabled),
    ...whenGiven('allowHttp', webhooks.allow_http),
    ...whenGiven('allow', webhooks.allow),
  }))

const allowEntry = filledText.refine(isAllowEntry, 'must be a host, host:port, a range or *')

/** The whole `[server.console]` table. */
export const consoleSchema: z.ZodType<ConsoleConfig> = z
  .strictObject({
    enabled: described(z.boolean().optional(), {
      description: 'Whether there is a console.',
      default: serverDefaults.hasConsole,
      examples: [false],
    }),
    allow: described(z.array(allowEntry).optional(), {
      description:
        'Hosts and ranges inside your networks whose agents operators may ask from the console, or `*` for everything; only public addresses if absent.',
      examples: [['agents.internal', '10.1.0.0/16']],
    }),
  })
  .transform(({ enabled, allow }) => ({
    ...whenGiven('enabled', enabled),
    ...whenGiven('allow', allow),
  }))

function isAllowEntry(entry: string): boolean {
  try {
    createAllowList([entry])
    return true
  } catch {
    return false
  }
}
