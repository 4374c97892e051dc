import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createClients } from './client-address.ts'

const { findClientAddress: find } = createClients(['10.0.0.0/8', '192.0.2.9', '2001:db8:ffff::/48', '::1'])

/** All that is looked at of a request. */
const from = (remoteAddress: string | undefined, forwarded?: string) =>
  find({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } as unknown as IncomingMessage)

describe('whose request it is', () => {
  it('is the address of the socket unless that is a trusted proxy', () => {
    expect(from('203.0.113.7')).toBe('203.0.113.7')
    expect(from('203.0.113.7', '198.51.100.1')).toBe('203.0.113.7')
    expect(from('2001:db8:fffe::1', '198.51.100.1')).toBe('2001:db8:fffe::1')
    expect(from('11.0.0.1', '198.51.100.1')).toBe('11.0.0.1')
    expect(from(undefined, '198.51.100.1')).toBeUndefined()
  })

  it.each(['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.9', '2001:db8:ffff:1::2', '::1'])('is whom %s names', (proxy) => {
    expect(from(proxy, '198.51.100.1')).toBe('198.51.100.1')
    expect(from(proxy)).toBe(proxy)
  })

  it.each([
    ['the rightmost that is not trusted', '6.6.6.6, 198.51.100.1, 10.7.7.7', '198.51.100.1'],
    ['one of IPv6', '6.6.6.6, 2001:db8::5', '2001:db8::5'],
    ['one with a port', '6.6.6.6, 198.51.100.1:4711', '198.51.100.1'],
    ['one of IPv6 with a port', '[2001:db8::5]:4711', '2001:db8::5'],
    ['one of IPv6 in brackets', '[2001:db8::5]', '2001:db8::5'],
    ['one with a zone, without it', 'fe80::1%eth0', 'fe80::1'],
    ['the first of all, where every one is trusted', '10.9.9.9, 10.8.8.8', '10.9.9.9'],
    ['the last good one before nonsense', '6.6.6.6, unknown, 10.7.7.7', '10.7.7.7'],
    ['the socket, before nonsense', '6.6.6.6, 1.2.3.4.5', '10.0.0.1'],
    ['the socket, before nothing', '6.6.6.6, ', '10.0.0.1'],
    ['the socket, where no one is named', '', '10.0.0.1'],
    ['the socket, before a number out of range', '300.1.1.1', '10.0.0.1'],
  ])('is %s', (_, forwarded, client) => {
    expect(from('10.0.0.1', forwarded)).toBe(client)
  })

  it('is found in a header that is as long as headers may be', () => {
    expect(from('10.0.0.1', `6.6.6.6${', 10.0.0.2'.repeat(100_000)}`)).toBe('6.6.6.6')
    expect(from('10.0.0.1', ','.repeat(1_000_000))).toBe('10.0.0.1')
  })
})
