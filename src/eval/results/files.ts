import { mkdir, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ValidationError } from '../base/errors.ts'
import { isJsonObject } from '../base/json.ts'
import type { ProtocolMetrics } from '../metrics/metrics.ts'
import { toMetricsDocument } from '../metrics/summary.ts'
import { toHtml } from '../report/html.ts'
import { toJUnit } from '../report/junit.ts'
import { toMarkdown } from '../report/markdown.ts'
import { writeWhole } from '../run/journal.ts'
import { parseResults, type RecordedResults } from './recorded.ts'
import type { EvalResults } from './results.ts'
import type { Simulation } from './simulation.ts'

/** Writes a run's results, metrics and reports; each file appears whole or not at all. */
export async function saveResults(directory: string, results: EvalResults): Promise<void> {
  await mkdir(directory, { recursive: true })
  const metrics = [
    ...results.simulations.map((one) => toMetricsDocument(one.task_id, allRecords(one))),
    toMetricsDocument(null, results.discovery_metrics),
  ]
  const files: Readonly<Record<string, string>> = {
    'metrics.json': `${JSON.stringify(metrics, null, 2)}\n`,
    'report.html': toHtml(results),
    'report.md': toMarkdown(results),
    'junit.xml': toJUnit(results),
    // Last: where it is, the others are.
    'results.json': `${JSON.stringify(results, null, 2)}\n`,
  }
  for (const [name, text] of Object.entries(files)) await writeWhole(join(directory, name), text)
}

/** The requests of all attempts at a simulation, each with its trial and attempt. */
function allRecords(simulation: Simulation): readonly ProtocolMetrics[] {
  const { trial, protocol_metrics, retried_metrics = [] } = simulation
  return [...retried_metrics, protocol_metrics].flatMap((records, index) =>
    records.map((record) => ({ ...record, trial, attempt: index + 1 })),
  )
}

/** Reads recorded results, of Corral or of tau2, from the file or from the directory that holds `results.json`. */
export async function loadResults(path: string): Promise<RecordedResults> {
  const file = path.endsWith('.json') ? path : join(path, 'results.json')
  const document: unknown = await readJson(file)
  if (!isJsonObject(document) || !Array.isArray(document.simulation_index))
    return parseResults(document)
  const folder = join(dirname(file), 'simulations')
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  const simulations = await Promise.all(names.map((name) => readJson(join(folder, name))))
  return parseResults({ ...document, simulations })
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const message = `There are no results in ${file}; name what "corral eval run" wrote`
    throw new ValidationError(message, { cause })
  })
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ValidationError(`${file} is not JSON; name what "corral eval run" wrote`, { cause })
  }
}
