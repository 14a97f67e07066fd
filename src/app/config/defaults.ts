/** What holds where the `[server]` table of a file does not say. */
export const serverDefaults = {
  host: '127.0.0.1',
  port: 3000,
  /** Below the directory in which the command is started. */
  store: '.corral/tasks.db',
  hasConsole: true,
  hasWebhooks: true,
} as const
