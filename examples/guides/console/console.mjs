import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { createConsole } from 'corral/console'
import { serve } from 'corral/server'

const echo = defineAgent({ name: 'Echo' }, ({ parts }) => `Echo: ${textOf(parts)}`)
const port = Number(process.env.PORT ?? 3000)
const { url } = await serve(echo, { port, console: createConsole() })
console.log(`Open ${url}/console/`)
