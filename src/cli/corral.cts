#!/usr/bin/env node
// What npm links as `corral`. Old versions of Node must be able to read it, down to 10: no newer syntax, no ES module.
const { engines } = require('../../package.json')

const needed = engines.node.replace('>=', '')
if (isOlder(process.versions.node, needed)) {
  const next =
    'install a newer one from https://nodejs.org, or with a version manager: nvm install 22'
  console.error(`corral: Corral needs Node ≥ ${needed}, this is ${process.versions.node}: ${next}`)
  process.exitCode = 2
} else import('./main.ts')

function isOlder(version: string, than: string): boolean {
  const [major, minor] = version.split('.').map(Number)
  const [leastMajor, leastMinor] = than.split('.').map(Number)
  return major === leastMajor
    ? Number(minor) < Number(leastMinor)
    : Number(major) < Number(leastMajor)
}
