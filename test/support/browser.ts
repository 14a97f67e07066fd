import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** Debian's Chromium, or the one that `CHROME_PATH` names; undefined where there is none. */
export const browserPath: string | undefined = [process.env.CHROME_PATH, '/usr/bin/chromium'].find(
  (path) => path !== undefined && existsSync(path),
)

if (!browserPath)
  console.warn('No Chromium: tests in a browser are skipped. Install it, or set CHROME_PATH.')

/** Starts the browser, for which names under `.test` are this machine, whoever they belong to. */
export function openBrowser(): Promise<Browser> {
  if (!browserPath) throw new Error('There is no Chromium')
  const args = [
    '--no-sandbox',
    '--host-resolver-rules=MAP *.test 127.0.0.1',
    // Chromium keeps some pages from this machine by itself. Other browsers do not, so the server is tried without that.
    '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests',
  ]
  return chromium.launch({ executablePath: browserPath, args })
}
