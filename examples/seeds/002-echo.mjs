import { A2aServer } from 'corral/compat'

await A2aServer.echo().bind('0.0.0.0:3000').run()
