import { describe, expect, test } from 'vitest'
import { bareHost, refusalOfAddress, refusalOfBaseUrl } from './address-guard.ts'

const STRICT = { allowPrivate: false }
const PRIVATE = { allowPrivate: true }

describe('an address', () => {
  test.each([
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700::1111',
    '64:ff9b::1.1.1.1',
    '2002:101:101::1',
  ])('%s is public', (address) => {
    expect(refusalOfAddress(address, STRICT)).toBeUndefined()
  })

  test.each([
    ...['10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '127.0.0.1', '127.255.0.9', '169.254.1.1'],
    ...['100.64.0.1', '100.127.255.254', '198.18.0.1', '::1', 'fc00::1', 'fdff::1', 'fe80::1', 'fe80::1%eth0'],
    ...['fec0::1', '::ffff:10.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:c0a8:0101', '64:ff9b::10.0.0.1'],
    ...['::ffff:0:10.0.0.1', '::ffff:0:127.0.0.1', '::ffff:0:c0a8:101', '0:0:0:0:ffff:0:a00:1'],
    ...[
      '64:ff9b::7f00:1',
      '64:ff9b:1::5',
      '64:ff9b:1:ffff:ffff::1',
      '64:ff9b:1::127.0.0.1',
      '2002:ac10:1::1',
      '2002:7f00:1::',
      '2002:a00:1::1',
      '2002:c0a8:101::9',
    ],
  ])('%s is private in every spelling: only with allow_private', (address) => {
    expect(refusalOfAddress(address, STRICT)).toMatch(/allow_private/)
    expect(refusalOfAddress(address, PRIVATE)).toBeUndefined()
  })

  test.each([
    ...['169.254.169.254', '169.254.170.2', '169.254.170.23', '100.100.100.200', '168.63.129.16', '192.0.0.192'],
    ...['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe'],
    ...['::ffff:0:169.254.169.254', '::ffff:0:a9fe:a9fe', '::ffff:0:100.100.100.200'],
    ...['64:ff9b::169.254.169.254', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::', '2002:6464:64c8::1'],
  ])('%s is a metadata service: always refused', (address) => {
    expect(refusalOfAddress(address, STRICT)).toMatch(/credentials/)
    expect(refusalOfAddress(address, PRIVATE)).toMatch(/credentials/)
  })

  test.each([
    ...['0.0.0.0', '0.1.2.3', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255', '::', 'ff02::1'],
    ...['::ffff:0:0.0.0.0', '::ffff:0:224.0.0.1', '::ffff:0:1.1.1.1', '2001::', '2001:0:ffff:ffff:ffff:ffff:f5ff:fffe'],
    ...['64:ff9b::0.0.0.0', '2002::', '2001:0:1::1', '::1.2.3.4', '192.0.2.1', 'localhost', '', '1.2.3', '127.1'],
  ])('%s is unroutable: always refused', (address) => {
    expect(refusalOfAddress(address, STRICT)).toBeDefined()
    expect(refusalOfAddress(address, PRIVATE)).toBeDefined()
  })
})

describe('a base URL', () => {
  test.each<[string, boolean, RegExp | undefined]>([
    ['https://api.example.com/v1', false, undefined],
    ['https://[2606:4700::1111]/v1', false, undefined],
    ['http://api.example.com/v1', false, /plain http/],
    ['http://localhost:8000/v1', false, /plain http/],
    ['http://localhost:8000/v1', true, undefined],
    ['http://10.0.0.7:8000/v1', true, undefined],
    ['https://10.0.0.7/v1', false, /private/],
    ['https://0x7f.1/v1', false, /private/],
    ['https://2130706433/v1', false, /private/],
    ['https://[::1]/v1', false, /private/],
    ['https://[::ffff:127.0.0.1]/v1', false, /private/],
    ['https://[::1]/v1', true, undefined],
    ['http://169.254.169.254/v1', true, /credentials/],
    ['http://[fd00:ec2::254]/v1', true, /credentials/],
    ['http://0.0.0.0:8000/v1', true, /unspecified/],
    ['ftp://api.example.com/v1', true, /neither/],
  ])('%s with allow_private %s', (url, allowPrivate, refusal) => {
    const emitted = refusalOfBaseUrl(new URL(url), { allowPrivate })
    if (refusal === undefined) expect(emitted).toBeUndefined()
    else expect(emitted).toMatch(refusal)
  })

  test('strips the brackets of an IPv6 host and keeps a name', () => {
    expect([bareHost('[::1]'), bareHost('a.example')]).toEqual(['::1', 'a.example'])
  })
})
