/** A URL that a stranger may name and nobody may call. */
export interface HostileUrl {
  readonly url: string
  /** What its name resolves to, where the URL alone does not give it away. */
  readonly addresses?: readonly string[]
}

const hosts = (list: string): string[] => list.trim().split(/\s+/)

/** This machine and its network in every spelling of an IPv4 address that a URL parser or a resolver reads. */
const spellings = hosts(`
  127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7F.1 0x7f.0.0.1 0177.0.0.1 0177.1 017700000001
  00000177.0.0.1 127.000.000.001 127.0.0.1. 127.255.255.254 127.127.127.127 127.0.0.01
  %31%32%37.0.0.1 127%2e0%2e0%2e1 127.0.0.%31 １２７.０.０.１ 127。0。0。1 127．0．0．1 127｡0｡0｡1
  ①②⑦.⓪.⓪.① 𝟏𝟐𝟕.𝟎.𝟎.𝟏 ¹²⁷.0.0.1 ０ｘ７ｆ.1 0 00 0x0 0.0.0.0 0.0.0.0. 0.1.2.3
  169.254.169.254 169.254.169.254. 169.16689662 169.254.43518 2852039166 0xA9FEA9FE 0xa9.0xfe.0xa9.0xfe
  0251.0376.0251.0376 025177524776 ①⑥⑨.②⑤④.①⑥⑨.②⑤④ 169。254。169。254 169.254.0.1 169.254.170.2
`)

/** Ranges that are not the public internet. */
const ranges = hosts(`
  10.0.0.1 10.255.255.255 167772161 0x0a000001 012.0.0.1 172.16.0.1 172.31.255.255 0xac100001
  192.168.0.1 192.168.1.254 3232235521 0xc0a80001 0300.0250.0.1 100.64.0.1 100.100.100.200 100.127.255.255
  168.63.129.16 192.0.0.192 192.0.0.1 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1
  203.0.113.7 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
`)

/** IPv6, with what it embeds. */
const ipv6 = hosts(`
  [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::] [0::0] [::2] [1::]
  [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::FFFF:127.0.0.1] [::ffff:169.254.169.254]
  [::ffff:a9fe:a9fe] [::ffff:10.0.0.1] [::ffff:0.0.0.0] [::ffff:0:127.0.0.1] [::127.0.0.1] [::7f00:1]
  [::169.254.169.254] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b::10.0.0.1]
  [64:ff9b:1::1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:7f00:0001::1] [2002:a9fe:a9fe::] [2002:a00:1::]
  [2001::1] [2001:0:7f00:1::] [2001:0:4136:e378:8000:63bf:80ff:fffe] [2001:db8::1] [2001:2::1] [2001:10::1]
  [2001:20::1] [3fff::1] [fe80::1] [fe80::a9fe:a9fe] [febf::1] [fec0::1] [fc00::1] [fd00::1]
  [fd00:ec2::254] [fd20:ce::254] [ff01::1] [ff02::1] [ff0e::1] [100::1] [5f00::1] [4000::1]
  [fe80::1%25eth0] [::1%25lo] [::1%lo] [::1
`)

/** Names that lead inside by themselves. */
const names = hosts(`
  localhost LOCALHOST localhost. localhost.. LocalHost%2e foo.localhost localhost.localdomain ip6-localhost
  ip6-loopback %6c%6f%63%61%6c%68%6f%73%74 lo%63alhost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｌｏｃａｌｈｏｓｔ loc\u00adalhost locаlhost
  metadata metadata.google.internal metadata.google.internal. METADATA.google.INTERNAL metadata.goog
  instance-data instance-data.ec2.internal kubernetes kubernetes.default.svc.cluster.local vault.internal
  host.docker.internal gateway.docker.internal db.corp printer.local router.lan nas.home nas.home.arpa
  wiki.intranet git.private consul redis
`)

/** Users, passwords and what parsers disagree about. */
const confusing = [
  'http://example.com@127.0.0.1/',
  'http://example.com:80@127.0.0.1/',
  'http://user:pw@10.0.0.1/',
  'http://user@example.com/',
  'http://:secret@example.com/',
  'http://127.0.0.1@example.com/',
  'http://127.0.0.1\\@example.com/',
  'http://127.0.0.1#@example.com/',
  'http://127.0.0.1?@example.com/',
  'http://127.0.0.1:80#.example.com/',
  'http:\\\\127.0.0.1/',
  'http:/127.0.0.1/',
  'http:127.0.0.1',
  'http:///127.0.0.1/',
  'http:////127.0.0.1/',
  'HTTP://127.0.0.1/',
  '\thttp://127.0.0.1/',
  ' http://127.0.0.1 ',
  'ht\ntp://127.0.0.1/',
  'http://127.0\n.0.1/',
  'http://127.0.0.1\t/',
  'http://127.0.0.1\0/',
  'http://exa mple.com/',
  'http://127.0.0.1%00.example.com/',
  'http://example.com:99999/',
  'http://[::1]example.com/',
]

/** Ports of services that are not the web. */
const ports = [0, 1, 21, 22, 23, 25, 53, 79, 81, 110, 143, 389, 445, 465, 587, 993, 1023].map(
  (port) => `http://example.com:${port}/`,
)

/** What is no URL of the web. */
const schemes = [
  'ftp://example.com/',
  'file:///etc/passwd',
  'file://localhost/etc/passwd',
  'gopher://127.0.0.1:6379/_x',
  'dict://127.0.0.1:11211/stat',
  'ldap://example.com/',
  'jar:http://127.0.0.1!/x',
  'javascript:alert(1)',
  'data:text/html,x',
  'data:,x',
  'ws://example.com/',
  'wss://example.com/',
  'blob:http://127.0.0.1/x',
  'unix:/var/run/docker.sock',
  'http+unix://%2Fvar%2Frun%2Fdocker.sock/info',
  'view-source:http://127.0.0.1/',
  'about:blank',
  'urn:a2a:x',
  '//127.0.0.1/',
  '/etc/passwd',
  'example.com',
  'http://',
  'http://?',
  'https://#',
]

/** Longer than anything that is meant. */
const overlong = [
  `http://example.com/${'a'.repeat(2_048)}`,
  `http://example.com/?${'../'.repeat(20_000)}`,
  `http://a${'.'.repeat(60_000)}b/`,
  `http://a${'.'.repeat(1_900)}/`,
  `http://${'a.'.repeat(130)}example.com/`,
  `http://${'%61'.repeat(600)}.example.com/`,
  `http://${'x'.repeat(2_000)}@example.com/`,
]

/** Public names with addresses inside. */
const resolving: readonly HostileUrl[] = Object.entries({
  '127.0.0.1.nip.io': ['127.0.0.1'],
  '10-0-0-1.sslip.io': ['10.0.0.1'],
  '169.254.169.254.xip.io': ['169.254.169.254'],
  'localtest.me': ['127.0.0.1', '::1'],
  'lvh.me': ['127.0.0.1'],
  'six.example.com': ['::1'],
  'mapped.example.com': ['::ffff:127.0.0.1'],
  'nat64.example.com': ['64:ff9b::7f00:1'],
  'zone.example.com': ['fe80::1%eth0'],
  'unspecified.example.com': ['0.0.0.0'],
  'shared.example.com': ['100.64.0.1'],
  'kubernetes.default': ['10.96.0.1'],
  'third.example.com': ['93.184.216.34', '93.184.216.35', '192.168.0.1'],
  'aws.example.com': ['fd00:ec2::254'],
  'bench.example.com': ['198.18.0.1'],
  'cast.example.com': ['239.1.1.1'],
  'nothing.example.com': [],
}).map(([host, addresses]) => ({ url: `http://${host}/`, addresses }))

/** Everything together. */
export const hostileUrls: readonly HostileUrl[] = [
  ...[...spellings, ...ranges, ...ipv6, ...names].map((host) => ({ url: `http://${host}/` })),
  ...[...confusing, ...ports, ...schemes, ...overlong].map((url) => ({ url })),
  ...resolving,
]
