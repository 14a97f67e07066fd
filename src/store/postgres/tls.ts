import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { A2AError } from '../../protocol/errors.ts'
import { toShownStore } from './url.ts'

/** Where a connection goes, and whether and how it is encrypted where its URL does not say it. */
interface DatabaseTarget {
  readonly url: string
  readonly tls: boolean | TlsOptions | undefined
}

/** A target as the driver takes it. */
interface DriverTarget {
  readonly connectionString: string
  readonly ssl?: boolean | TlsOptions
}

/** All but the first and the last encrypt and check the certificate, whatever other programs mean by them. */
const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/**
 * Says to the driver what is meant. A mode in the URL would make it forget the files of `tls`, and it warns of every mode
 * but the strictest, since its next version checks less for them.
 *
 * @throws A2AError `unavailable` for a mode that there is not.
 */
export function toDriverTarget({ url, tls }: DatabaseTarget): DriverTarget {
  const mode = /[?&]sslmode=([^&#]*)/.exec(url)?.[1]
  // Who asks the driver for the meaning of PostgreSQL's own programs gets it.
  if (mode === undefined || /[?&]uselibpqcompat=true/.test(url))
    return { connectionString: url, ...(tls !== undefined && { ssl: tls }) }
  if (!modes.includes(mode))
    throw new A2AError(
      'unavailable',
      `Cannot open the task store ${toShownStore(url)}: there is no sslmode "${mode}", only ${modes.join(', ')}`,
    )
  if (mode === 'disable') return { connectionString: url }
  const isChecked = mode !== 'no-verify'
  if (typeof tls !== 'object' || /[?&]ssl(?:cert|key|rootcert)=/.test(url))
    return { connectionString: isChecked ? withMode(url, 'verify-full') : url }
  // A parameter without a value is none.
  return {
    connectionString: withMode(url, ''),
    ssl: isChecked ? tls : { ...tls, rejectUnauthorized: false },
  }
}

function withMode(url: string, mode: string): string {
  return url.replace(/([?&]sslmode=)[^&#]*/, (_, name: string) => `${name}${mode}`)
}
