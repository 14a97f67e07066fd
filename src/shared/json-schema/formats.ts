import { readUrl } from '../url.ts'

/** The formats of texts that can be checked, by their names in JSON Schema. */
export const formats: ReadonlyMap<string, (text: string) => boolean> = new Map(
  Object.entries({
    date: isDate,
    time: isTime,
    'date-time': isDateTime,
    duration: (text: string) =>
      /^P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/.test(
        text,
      ),
    email: (text: string) => /^[^\s@]+@[^\s@]+$/.test(text),
    hostname: isHostname,
    ipv4: isIpv4,
    ipv6: (text: string) =>
      /^[\da-f:.]+$/i.test(text) && readUrl(`http://[${text}]/`) !== undefined,
    uri: (text: string) => /^[a-z][a-z\d+.-]*:\S*$/i.test(text) && readUrl(text) !== undefined,
    uuid: (text: string) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text),
  }).map(([name, is]) => [name, (text: string) => text.length <= longest && is(text)]),
)

/** Longer than a text of these formats is. */
const longest = 2_048

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (year === undefined) return false
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}

function isTime(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i.test(
    text,
  )
}

function isDateTime(text: string): boolean {
  const separator = text.charAt(10)
  return (
    (separator === 'T' || separator === 't') && isDate(text.slice(0, 10)) && isTime(text.slice(11))
  )
}

function isHostname(text: string): boolean {
  const labels = text.split('.')
  return (
    text.length <= 253 &&
    labels.every((label) => /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i.test(label))
  )
}

function isIpv4(text: string): boolean {
  const numbers = text.split('.')
  return (
    numbers.length === 4 &&
    numbers.every((one) => /^(?:0|[1-9]\d{0,2})$/.test(one) && Number(one) < 256)
  )
}
