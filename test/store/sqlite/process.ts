import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** What a process is to do with a store; see worker-process.ts. */
export type Job = 'open' | 'hold' | 'write' | 'check'

/** Starts a process of its own on a store's file. */
export function startProcess(
  job: Job,
  path: string,
  options: { nobody?: boolean } = {},
): ChildProcess {
  const script = fileURLToPath(new URL('./store-process.ts', import.meta.url))
  return spawn(process.execPath, ['--import', 'tsx', script, job, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, RUN_AS_NOBODY: options.nobody ? '1' : '' },
  })
}

/** Runs a process to its end. */
export async function runProcess(
  job: Job,
  path: string,
  options: { nobody?: boolean } = {},
): Promise<{ readonly output: string; readonly code: number | null }> {
  const child = startProcess(job, path, options)
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  return { output, code }
}

/** Waits for a line of a process that begins with this. */
export async function lineOf(child: ChildProcess, start: string): Promise<string> {
  for await (const chunk of child.stdout?.setEncoding('utf8') ?? []) {
    const line = String(chunk)
      .split('\n')
      .find((one) => one.startsWith(start))
    if (line !== undefined) return line
  }
  throw new Error(`The process ended without "${start}"`)
}
