import { spawnSync } from 'node:child_process'

/** Whether the machine has a Python to compare with; where it has none, that is said once, loudly. */
export const hasPython: boolean = findPython()

function findPython(): boolean {
  const { status } = spawnSync('python3', ['--version'])
  if (status !== 0) console.warn('SKIPPED: there is no python3 to compare the Python layer with')
  return status === 0
}

/** What a function of Python gives for each input; `code` defines `answer(input)`, and an exception is its text. */
export function askPython(code: string, inputs: readonly unknown[]): readonly string[] {
  const program = `import json, sys, warnings
warnings.simplefilter('ignore')
${code}
def attempt(one):
    try:
        return answer(one)
    except Exception as e:
        return f'Error: {e}'
print(json.dumps([attempt(one) for one in json.load(sys.stdin)]))`
  const { stdout, stderr, status } = spawnSync('python3', ['-c', program], {
    input: JSON.stringify(inputs),
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}
