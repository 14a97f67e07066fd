import { A2AServer } from '../../src/compat/a2a-server.ts'

const { url } = await A2AServer.echo().bind('127.0.0.1:0').run()
console.log(url)
