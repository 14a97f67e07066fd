/**
 * Runs the built command again and again, as its parent asks for: most of a run of the command is the start of a process.
 * Each run has the arguments, the directory and the environment that a process of its own would have, and writes to the
 * same pipes; a line with a zero byte on both of them ends it.
 */
const { run } = await import(process.argv[2])
const home = process.cwd()
const events = ['uncaughtException', 'unhandledRejection', 'warning', 'SIGINT', 'SIGTERM']

process.on('message', async ({ args, cwd = home, env }) => {
  const before = events.map((name) => [name, process.listeners(name)])
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(cwd)
  process.exitCode = undefined
  const code = await run(args)
  process.exitCode = undefined
  process.chdir(home)
  for (const [name, listeners] of before) {
    process.removeAllListeners(name)
    for (const listener of listeners) process.on(name, listener)
  }
  process.stdout.removeAllListeners('error')
  process.stderr.write('\0')
  process.stdout.write(`\0${code}\0`)
})
process.send('ready')
