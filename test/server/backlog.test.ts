import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

/** What the system lets a server have waiting; Linux tells it. */
function maxBacklog(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))
  } catch {
    return 0
  }
}

const count = 1_500

test.skipIf(maxBacklog() < count)(
  'a server that is busy has the connections wait that come meanwhile, and drops none',
  async () => {
    const script = fileURLToPath(new URL('./blocked-process.ts', import.meta.url))
    const child = spawn(process.execPath, ['--import', 'tsx', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
    const { port } = new URL(String(line).trim())
    await once(child.stdout, 'data')
    const sockets: Socket[] = []
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
    })
    const opened = Array.from({ length: count }, async () => {
      const socket = connect(Number(port), '127.0.0.1')
      sockets.push(socket)
      await once(socket, 'connect')
    })
    // Those beyond the backlog would be let in only once the server looks at them, which it never does.
    await Promise.all(opened)
    expect(sockets).toHaveLength(count)
  },
)
