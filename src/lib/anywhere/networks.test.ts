import { describe, expect, it } from 'vitest'
import { createNetworks } from '../network.ts'
import { readNetwork } from './networks.ts'

describe('an address or a network', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    [' 203.0.113.7/32 ', '203.0.113.7'],
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['2001:db8::1/128', '2001:db8::1'],
    ['::/0', '::/0'],
    ['fe80::ffff:1/127', 'fe80::ffff:0/127'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
  ])('%s is %s', (written, read) => {
    expect(readNetwork(written)).toBe(read)
    expect(readNetwork(read)).toBe(read)
  })

  it.each([
    ...['', 'example.com', '10.0.0', '10.0.0.256', '010.0.0.1', '10.0.0.1/33', '::1/129', '10.0.0.0/-1', '10.0.0.0/'],
    ...[
      '1::2::3',
      '12345::',
      'fe80::1%eth0',
      '[::1]',
      '10.0.0.1:80',
      '0x7f.1',
      '1.2.3.4/08/1',
      'a',
      ':',
      '10.0.0.0/8 '.repeat(9),
    ],
  ])('%j is neither', (written) => {
    expect(readNetwork(written)).toBeUndefined()
  })
})

describe('a list of networks', () => {
  const networks = createNetworks(['203.0.113.7', '10.0.0.0/8', '2001:db8::/32', '::1'])

  it('has what is in one of them', () => {
    for (const address of ['203.0.113.7', '10.255.0.1', '::ffff:10.0.0.1', '2001:db8:ffff::1', '::1'])
      expect(networks.has(address), address).toBe(true)
    for (const address of [
      '203.0.113.8',
      '11.0.0.1',
      '::ffff:11.0.0.1',
      '2001:db9::1',
      '::2',
      '',
      'unknown',
      '10.0.0.1:80',
    ])
      expect(networks.has(address), address).toBe(false)
  })
})
