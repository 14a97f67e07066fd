import { serve } from 'corral/server'
import { fromExecutor } from './from-executor.mjs'
import { executor } from './sdk-executor.mjs'

const poet = fromExecutor({ name: 'Poet', description: 'Writes short verse' }, executor)
const { url } = await serve(poet, { port: Number(process.env.PORT ?? 3000) })
console.log(`The poet answers at ${url}`)
