// #region serve
import { TeamServer } from 'corral/team'
import { press } from './press.mjs'

const server = new TeamServer(press, Number(process.env.PORT ?? 3000), { host: '127.0.0.1' })
await server.start()
// #endregion

await server.shutdown()
