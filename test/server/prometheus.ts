/**
 * Checks a page of metrics against Prometheus' text format 0.0.4: names, labels, numbers, one TYPE before the samples of
 * a metric, no sample twice, and histograms whose buckets rise to `+Inf`, which equals their count.
 */
export function checkMetrics(text: string): readonly string[] {
  const faults: string[] = []
  const types = new Map<string, string>()
  const seen = new Set<string>()
  const buckets = new Map<string, [bound: number, count: number][]>()
  const totals = new Map<string, number>()
  if (!text.endsWith('\n')) faults.push('the page does not end with a line feed')
  for (const line of text.split('\n').slice(0, -1)) {
    const head = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line)
    if (head) {
      const [, kind, name = '', rest = ''] = head
      if (kind !== 'TYPE') continue
      if (types.has(name)) faults.push(`${name} has two types`)
      if (!/^(counter|gauge|histogram|summary|untyped)$/.test(rest)) faults.push(`type ${rest}`)
      if ([...seen].some((sample) => sample.startsWith(`${name}{`)))
        faults.push(`${name} has samples before its type`)
      types.set(name, rest)
      continue
    }
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
    if (!sample) {
      faults.push(`not a sample: ${line}`)
      continue
    }
    const [, name = '', labels = '', number = ''] = sample
    const value = number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number)
    if (Number.isNaN(value)) faults.push(`not a number: ${line}`)
    const pairs = labels.match(/[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"(?:,|$)/g) ?? []
    if (pairs.join('') !== labels) faults.push(`labels: ${line}`)
    if (seen.has(`${name}{${labels}}`)) faults.push(`twice: ${line}`)
    seen.add(`${name}{${labels}}`)
    const base = name.replace(/_(bucket|sum|count)$/, '')
    const family = types.get(base) === 'histogram' ? base : name
    if (!types.has(family)) faults.push(`${name} has no type`)
    if (types.get(family) !== 'histogram') continue
    const le = /(?:^|,)le="([^"]*)"/.exec(labels)
    const series = `${family}{${labels.replace(/(?:^|,)le="[^"]*"/, '')}}`
    if (name.endsWith('_bucket')) {
      if (!le) faults.push(`a bucket without le: ${line}`)
      const bound = le?.[1] === '+Inf' ? Number.POSITIVE_INFINITY : Number(le?.[1])
      buckets.set(series, [...(buckets.get(series) ?? []), [bound, value]])
    } else if (name.endsWith('_count')) totals.set(series, value)
    else if (!name.endsWith('_sum')) faults.push(`no part of a histogram: ${line}`)
  }
  for (const [series, all] of buckets) {
    const isRising = all.every(([bound, count], i) => {
      const [before, fewer] = all[i - 1] ?? [Number.NEGATIVE_INFINITY, 0]
      return bound > before && count >= fewer
    })
    if (!isRising) faults.push(`${series} does not rise`)
    const [last, total] = all.at(-1) ?? [0, 0]
    if (last !== Number.POSITIVE_INFINITY) faults.push(`${series} has no +Inf`)
    if (totals.get(series) !== total) faults.push(`${series} does not add up`)
  }
  return faults
}

/** The value of a sample, by its name and labels as they are written; 0 where there is none. */
export function sampleOf(text: string, sample: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `))
  return Number(line?.slice(sample.length + 1) ?? 0)
}
