import { readSync } from 'node:fs'
import { A2AServer } from '../../src/compat/a2a-server.ts'

/** Serves, and from then on does nothing until it is told something. */
const { url } = await A2AServer.echo().bind('127.0.0.1:0').run()
console.log(url)
setTimeout(() => {
  console.log('blocked')
  readSync(0, Buffer.alloc(1))
}, 100)
