// #region serve
import { serve } from 'corral/server'
import { press } from './press.mjs'

const server = await serve(press, { port: Number(process.env.PORT ?? 3000) })
// #endregion

await server.close()
