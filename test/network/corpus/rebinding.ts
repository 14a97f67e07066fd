const outside = '93.184.216.34'
const alsoOutside = '2606:4700:4700::1111'

/** A name that changes what it resolves to: each answer is given to one attempt. */
export interface Rebinding {
  readonly name: string
  readonly steps: readonly { readonly addresses: readonly string[]; readonly passes: boolean }[]
}

const pass = (...addresses: string[]) => ({ addresses, passes: true })
const stop = (...addresses: string[]) => ({ addresses, passes: false })

/** What a stranger's name may do. */
export const rebindings: readonly Rebinding[] = [
  { name: 'public, then loopback', steps: [pass(outside), stop('127.0.0.1')] },
  { name: 'public, then the metadata service', steps: [pass(outside), stop('169.254.169.254')] },
  { name: 'public, then private IPv6', steps: [pass(alsoOutside), stop('fd00::1')] },
  { name: 'another answer each time', steps: [pass(outside), stop('10.0.0.1'), pass(outside)] },
  { name: 'public twice, then private', steps: [pass(outside), pass(outside), stop('10.0.0.1')] },
  { name: 'public and private at once', steps: [stop(outside, '10.0.0.1')] },
  { name: 'private and public at once', steps: [stop('10.0.0.1', outside)] },
  { name: 'a private AAAA beside a public A', steps: [stop('::1', outside)] },
  { name: 'a private A beside a public AAAA', steps: [stop(alsoOutside, '192.168.0.1')] },
  { name: 'a mapped loopback beside a public A', steps: [stop(outside, '::ffff:127.0.0.1')] },
  { name: 'the last of many', steps: [stop(...Array(30).fill(outside), '127.0.0.1')] },
  { name: 'mixed, then private', steps: [stop(outside, '10.0.0.1'), stop('10.0.0.1')] },
  { name: 'private, then public, then private', steps: [stop('::1'), pass(outside), stop('::1')] },
  { name: 'nothing, then loopback', steps: [stop(), stop('127.0.0.1')] },
]

/** What a name may do that the operator has written. */
export const writtenRebindings: readonly Rebinding[] = [
  { name: 'private and stays so', steps: [pass('10.0.0.1'), pass('10.0.0.2'), pass('::1')] },
  { name: 'public and stays so', steps: [pass(outside), pass(alsoOutside)] },
  { name: 'public of two families', steps: [pass(outside, alsoOutside)] },
  { name: 'loopback of two families', steps: [pass('::1', '127.0.0.1')] },
  { name: 'public, then private', steps: [pass(outside), stop('10.0.0.1'), pass(outside)] },
  { name: 'private, public, private', steps: [pass('10.0.0.1'), pass(outside), stop('10.0.0.1')] },
  { name: 'mixed', steps: [stop(outside, '10.0.0.1'), stop('10.0.0.1'), pass(outside)] },
  { name: 'a private AAAA beside a public A', steps: [stop('fd00::1', outside)] },
]
